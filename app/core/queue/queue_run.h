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

/// One run of a queue while its owner checks its devices, launches it, follows it and stops it. The owner decides
/// what its end means for the queue. Delete it by deleteLater(), since it may be emitting.
class QueueRun : public QObject {
    Q_OBJECT
public:
    explicit QueueRun(QObject *parent = nullptr);
    ~QueueRun() override;

    void check(const RunConfig &config, const CommandPrefix &where); ///< checked() follows; once
    [[nodiscard]] bool wasChecked() const { return m_check != nullptr; }
    void launch(const CommandPrefix &where, const LaunchRequest &request); ///< launched() or launchFailed() follows
    RunStore *follow(const std::string &run,
                     const CommandPrefix &agent0); ///< makes the store; then call startFollowing()
    void startFollowing();                         ///< ended() follows
    [[nodiscard]] bool followed() const { return m_follower != nullptr; }
    [[nodiscard]] RunStore *store() const { return m_store.get(); }
    void forget(); ///< stops following and deletes the store
    /// Ends a check, or asks the run to stop, again and again until its agent answers. Does nothing while the run is being launched.
    void stop(const QString &by);

Q_SIGNALS:
    /// The check of its devices before the first run over them; `error` absent: passed. `linkFailed`: the host was not reached.
    void checked(const std::optional<lockstep::Error> &error, bool linkFailed);
    void launched(const QString &run);
    void launchFailed(const lockstep::Error &error, int exitCode);
    void live(); ///< its agent answers
    void ended();

private:
    std::unique_ptr<PlaceCheck> m_check; ///< runs before the launcher
    std::unique_ptr<NodesLauncher> m_launcher;
    std::unique_ptr<RunStore> m_store;
    std::unique_ptr<RunFollower> m_follower;       ///< destroyed before its store
    std::vector<std::unique_ptr<Request>> m_stops; ///< not answered by the agent yet
};

/// The queue entry's state after its run has ended, from the store.
struct EntryEnd {
    EntryState state = EntryState::Failed;
    QString reason;
};
[[nodiscard]] EntryEnd entryEndOf(const RunStore &store);
/// Whether a run was refused before its first step. It does not count as a run.
[[nodiscard]] bool refusedToTrain(const RunStore &store);

} // namespace lockstep::core
