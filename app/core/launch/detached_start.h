#pragma once
#include <optional>

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QTimer>

#include "ipc/error.h"
#include "launch/recipe.h"

namespace lockstep::core {

/// What the window's Start asks for.
struct StartRequest {
    Recipe recipe; ///< built-in, from a file, or of freely chosen configs
    bool quick = false;
    std::optional<int> repeats;
    int sideBySide = 1;  ///< runs that may go at once, on devices of their own
    std::string host;    ///< empty: this machine
    std::string queueOn; ///< machine that keeps the queue, so that this one may leave; empty: this one
    std::string remoteAgent;
};

/// Runs `lockstepctl run - --detach --json` with the recipe on stdin. Never blocks. One use.
class DetachedStart : public QObject {
    Q_OBJECT
public:
    explicit DetachedStart(QObject *parent = nullptr);
    void start(const StartRequest &request);
    /// Takes up the queue of an experiment whose owner is gone: `lockstepctl run --experiment ID --detach --json`.
    void takeUp(const std::string &experimentId);

Q_SIGNALS:
    void started(const QString &experimentId);
    void failed(const lockstep::Error &error); ///< lockstepctl's own sentences

private:
    void run(const QStringList &arguments, const QByteArray &input);
    void over();
    QProcess m_process;
};

} // namespace lockstep::core
