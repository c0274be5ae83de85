#pragma once
#include <optional>
#include <string>

#include <QObject>
#include <QTimer>

#include "ipc/error.h"
#include "ipc/run_config.h"
#include "launch/attended_run.h"

namespace lockstep::core {

/// Whether ranks of this run talk over more than one node, or GPUs: what a wrong cable, firewall or driver breaks.
[[nodiscard]] bool wantsCheck(const RunConfig &config);
/// Whether these places (nodes, interfaces, devices, seen from `where`) were found good before, in the book of nodes as it is now.
[[nodiscard]] bool wasChecked(const RunConfig &config, const CommandPrefix &where);
/// dataHome()/checked_places.json. What was found good in an older book is forgotten.
[[nodiscard]] Result<void> rememberChecked(const RunConfig &config, const CommandPrefix &where);

/// Before the first run over given places: all-reduces with known sums over the run's devices and interfaces, and where they
/// fail each pair of ranks by itself, so that the failing one is named (`lockstep-trainer check`). One use; ended() is told once.
class PlaceCheck : public QObject {
    Q_OBJECT
public:
    explicit PlaceCheck(QObject *parent = nullptr);
    void start(const RunConfig &config, const CommandPrefix &where);
    void stop(); ///< ended() follows
    [[nodiscard]] bool linkFailed() const { return m_run.linkFailed(); }

Q_SIGNALS:
    void ended(const std::optional<lockstep::Error> &error); ///< absent: good, and remembered

private:
    void take(const QByteArray &line);
    void over(const std::optional<Error> &error);

    RunConfig m_config;
    CommandPrefix m_where;
    AttendedRun m_run;
    QTimer m_limit;
    bool m_answered = false, m_late = false;
    std::optional<Error> m_trouble;
};

} // namespace lockstep::core
