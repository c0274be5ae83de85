// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include <QObject>
#include <QTimer>

#include "ipc/error.h"
#include "ipc/run_config.h"
#include "launch/attended_run.h"

namespace lockstep::core {

/// Whether this run's ranks communicate across nodes or GPUs, where a wrong cable, firewall or driver breaks them.
[[nodiscard]] bool wantsCheck(const RunConfig &config);
/// Whether these places (nodes, interfaces, devices, as seen from `where`) passed before with the current book of
/// nodes.
[[nodiscard]] bool wasChecked(const RunConfig &config, const CommandPrefix &where);
/// dataHome()/checked_places.json. A change of the book discards earlier results.
[[nodiscard]] Result<void> rememberChecked(const RunConfig &config, const CommandPrefix &where);

/// The check before the first run over given places: all-reduces with known sums over the run's devices and interfaces.
/// If they fail, each pair of ranks is tried alone to name the failing one (`lockstep-trainer check`). One use; ended()
/// is emitted once.
class PlaceCheck : public QObject {
    Q_OBJECT
public:
    explicit PlaceCheck(QObject *parent = nullptr);
    void start(const RunConfig &config, const CommandPrefix &where);
    void stop(); ///< ended() follows
    [[nodiscard]] bool linkFailed() const { return m_run.linkFailed(); }

Q_SIGNALS:
    void ended(const std::optional<lockstep::Error> &error); ///< absent: passed and recorded

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
