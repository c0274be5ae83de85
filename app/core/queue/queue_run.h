// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QObject>

#include "base/request.h"
#include "experiment/experiment.h"

namespace lockstep::core {
class NodesLauncher;
class PlaceCheck;
class RunFollower;
class RunStore;

/// One run of a queue while its owner checks its devices, launches it, follows it and stops it. What its end means for the queue
/// is the owner's to decide. An owner that is done with it calls deleteLater(): it may be emitting.
class QueueRun : public QObject {
    Q_OBJECT
public:
    explicit QueueRun(QObject *parent = nullptr);
    ~QueueRun() override;

    void check(const RunConfig &config, const CommandPrefix &where); ///< checked() follows; once
    [[nodiscard]] bool wasChecked() const { return m_check != nullptr; }
    void launch(const CommandPrefix &where, const LaunchRequest &request); ///< launched() or launchFailed() follows
    RunStore *follow(const std::string &run,
                     const CommandPrefix &agent0); ///< for startFollowing(), once its reader is there
    void startFollowing();                         ///< ended() follows
    [[nodiscard]] bool followed() const { return m_follower != nullptr; }
    [[nodiscard]] RunStore *store() const { return m_store.get(); }
    void forget(); ///< no longer followed, and its store is gone
    /// Ends a check, asks a run to stop until its agent has answered. A run that is being launched is not stopped yet.
    void stop(const QString &by);

Q_SIGNALS:
    /// Its devices, before the first run over them; `error` absent: good. `linkFailed`: the check itself did not get there.
    void checked(const std::optional<lockstep::Error> &error, bool linkFailed);
    void launched(const QString &run);
    void launchFailed(const lockstep::Error &error, int exitCode);
    void live(); ///< its agent answers
    void ended();

private:
    std::unique_ptr<PlaceCheck> m_check; ///< before the launcher
    std::unique_ptr<NodesLauncher> m_launcher;
    std::unique_ptr<RunStore> m_store;
    std::unique_ptr<RunFollower> m_follower;       ///< goes before the store it feeds
    std::vector<std::unique_ptr<Request>> m_stops; ///< the agent was asked and has not answered
};

/// What an entry of the queue becomes when its run has ended with what the store says.
struct EntryEnd {
    EntryState state = EntryState::Failed;
    QString reason;
};
[[nodiscard]] EntryEnd entryEndOf(const RunStore &store);
/// Whether a run was refused before its first step: that is no run.
[[nodiscard]] bool refusedToTrain(const RunStore &store);

} // namespace lockstep::core
