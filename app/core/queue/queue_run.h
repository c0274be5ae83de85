// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QObject>
#include <QTimer>

#include "base/request.h"
#include "experiment/experiment.h"
#include "queue/reach_wait.h"

namespace lockstep::core {
class NodesLauncher;
class PlaceCheck;
class RunFollower;
class RunStore;
struct IndexedRun;

/// One run of a queue from its launch to its end: its devices are checked, it is launched, again where a link breaks or a node is
/// away, followed and stopped. The owner writes down each id before it is launched, and decides what the end means for the queue.
/// Delete it by deleteLater(), since it may be emitting.
class QueueRun : public QObject {
    Q_OBJECT
public:
    explicit QueueRun(std::string experiment, QObject *parent = nullptr); ///< the queue's id
    ~QueueRun() override;

    /// How launch() goes about it.
    struct Care {
        bool check = true; ///< check the devices before the first run over them
        /// Whether an earlier run reached this host: then it is waited for, else its name may be wrong. Never null.
        std::function<bool(const std::string &host)> reached = [](const std::string &) { return false; };
    };
    /// launched(), mayRun(), launchAgain(), stopped(), refused() or failed() follows.
    void launch(const CommandPrefix &where, const LaunchRequest &request, Care care);
    void notThere(); ///< what mayRun() hoped for: launchAgain(), stopped(), refused() or failed() follows
    /// After mayRun(), at ended(): no link to its host has ever stood, so that its name may be wrong.
    [[nodiscard]] bool neverReached() const;
    RunStore *follow(const std::string &run,
                     const CommandPrefix &agent0); ///< makes the store; then call startFollowing()
    void startFollowing();                         ///< ended() follows
    [[nodiscard]] RunStore *store() const { return m_store.get(); }
    void forget(); ///< stops following and deletes the store
    /// Ends a check or the waiting for a node, or asks the run to stop, again and again until its agent answers. A run that is being
    /// launched is asked once it is followed. Of one whose record names another experiment ended() follows, and nothing is stopped.
    void stop(const QString &by);

Q_SIGNALS:
    void checking(); ///< its devices, before the first run over them
    void launched(const QString &run);
    void mayRun(); ///< the link broke: its agent may have started or not, which following it shows
    void waits(const QString &sentence);        ///< for a node that can't be reached
    void launchAgain();                         ///< nothing was started: call launch() with a new id
    void stopped();                             ///< by stop(), before anything was started
    void refused(const lockstep::Error &error); ///< nothing was started, and would not be again
    void failed(const QString &reason);         ///< nothing was started
    void live();                                ///< its agent answers
    void ended();

private:
    void checked(const std::optional<Error> &error);
    void startLauncher();
    void launchFailed(const Error &error, int exitCode);
    bool waitUntilReached(const Error &error);
    void followed();
    void lostAgain();
    std::string m_experiment;
    CommandPrefix m_where;
    LaunchRequest m_request;
    Care m_care;
    int m_attempts = 0;               ///< over a failing link
    int m_lostLinks = 0;              ///< since mayRun(), to a host that was never reached
    std::optional<Error> m_unreached; ///< why that host was not
    ReachWait m_wait;
    std::optional<QString> m_stopBy;     ///< stop() was called
    std::string m_notStopped;            ///< why the last try failed
    std::unique_ptr<PlaceCheck> m_check; ///< runs before the launcher
    std::unique_ptr<NodesLauncher> m_launcher;
    std::unique_ptr<RunStore> m_store;
    std::unique_ptr<RunFollower> m_follower;       ///< destroyed before its store
    CommandPrefix m_agent0;                        ///< of the run that is followed
    QTimer m_trainsOn;                             ///< that run can't be followed any further, and its agent lives
    std::vector<std::unique_ptr<Request>> m_stops; ///< not answered by the agent yet
};

/// The queue entry's state after its run has ended, from the store.
struct EntryEnd {
    EntryState state = EntryState::Failed;
    QString reason;
};
[[nodiscard]] EntryEnd entryEndOf(const RunStore &store);
[[nodiscard]] EntryEnd entryEndOf(const RunResult &result);
/// Of a queue that nobody owns: gives the runs under way that have ended since, as their files say, their own ends. Of one whose agent
/// died the reason says so: whoever resumes the queue decides whether it runs again. Writes nothing.
void takeEndsWithoutOwner(Experiment &experiment);
/// The same for lists of many experiments: by what the index knows of runs, instead of by their files, whose records may be large. A run
/// whose agent died stays as it is.
void takeEndsWithoutOwner(Experiment &experiment, const std::map<std::string, const IndexedRun *> &runs);
/// Whether a run was refused before its first step. It does not count as a run.
[[nodiscard]] bool refusedToTrain(const RunStore &store);

} // namespace lockstep::core
