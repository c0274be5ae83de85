// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QTimer>

#include "experiment/recipe.h"
#include "ipc/error.h"

namespace lockstep::core {

/// The window's request to start an experiment.
struct StartRequest {
    Recipe recipe; ///< built-in, from a file, or made of chosen configs
    bool quick = false;
    std::optional<int> repeats;
    std::optional<std::uint64_t> orderSeed; ///< seed for the order of the rounds; absent: the recipe's, or a new one
    int sideBySide = 1;                     ///< runs at the same time, each on its own devices
    std::string host;                       ///< empty: this machine
    std::string queueOn; ///< machine that keeps the queue, so that this one may leave; empty: this one
    std::string remoteAgent;
};

/// Runs `lockstepctl run - --detach --json` with the recipe on stdin. Never blocks. One use.
class DetachedStart : public QObject {
    Q_OBJECT
public:
    explicit DetachedStart(QObject *parent = nullptr);
    void start(const StartRequest &request);
    /// Resumes the queue of an experiment whose owner has ended: `lockstepctl run --experiment ID --detach --json`.
    void resumeQueue(const std::string &experimentId);

Q_SIGNALS:
    void started(const QString &experimentId);
    void failed(const lockstep::Error &error); ///< lockstepctl's error

private:
    void run(const QStringList &arguments, const QByteArray &input);
    void over();
    QProcess m_process;
};

} // namespace lockstep::core
