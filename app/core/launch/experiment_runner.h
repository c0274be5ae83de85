#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <QObject>
#include <QTimer>

#include "ipc/held_folder.h"
#include "ipc/unix_socket.h"
#include "launch/queue_request.h"

namespace lockstep::core {
class NodesLauncher;
class PlaceCheck;
class RunFollower;
class RunStore;

/// Owns an experiment's queue: one agent after another, or as many at once as the experiment allows, until all are over. One
/// owner by lock. Killed at any moment, a new one on the same experiment attaches to the runs that still run and goes on.
///
/// The queue's order holds side by side too: the first that waits starts as soon as there is room for it, and holds back
/// those behind it till then.
class ExperimentRunner : public QObject {
    Q_OBJECT
public:
    explicit ExperimentRunner(QObject *parent = nullptr);
    ~ExperimentRunner() override;

    /// Takes the lock and reads the experiment; an error names the owner's pid. Nothing is started yet.
    [[nodiscard]] Result<void> own(const std::string &experimentId);
    /// Says why the nodes of a run use the line of PyTorch that they do (RunRecord::torchReason); without it nothing is recorded.
    void setTorchReason(std::function<std::string(const RunConfig &)> reason) { m_torchReason = std::move(reason); }
    void start();
    /// Stops the current runs (checkpoint, exit 130) and marks the rest stopped; finished() follows.
    void stop(const QString &by);
    /// What a person may ask of the queue; a request that can't be, or of a viewer without control, is logged and dropped.
    void take(const QueueRequest &request);

    [[nodiscard]] const Experiment &experiment() const { return m_experiment; }
    /// 0 all done, 1 one failed, 2 refused, 130 stopped. Valid after finished().
    [[nodiscard]] int exitCode() const { return m_exitCode; }
    [[nodiscard]] QString sentence() const { return m_sentence; } ///< why not 0
    /// Refused before anything ran: there is nothing to keep. Removes the experiment's folder.
    void discard();

Q_SIGNALS:
    void experimentChanged();
    void checking(int entry);                                    ///< its devices, before the first run over them
    void runStarted(int entry, lockstep::core::RunStore *store); ///< store lives until runFinished
    void runFinished(int entry);
    void finished(int exitCode);

private:
    [[nodiscard]] CommandPrefix prefixOf(const ExperimentEntry &entry) const;
    /// A run that is launching or running.
    struct UnderWay {
        UnderWay();
        ~UnderWay();
        std::unique_ptr<PlaceCheck> check; ///< before the launcher
        std::unique_ptr<NodesLauncher> launcher;
        std::unique_ptr<RunStore> store;
        std::unique_ptr<RunFollower> follower;
        int attempts = 0;       ///< at launching it over a failing link
        bool inherited = false; ///< an earlier owner's, met when the queue was taken up
        bool skipping = false;  ///< it is being stopped alone
    };
    void next();
    bool startNext();
    void takeUp(int entry);
    void launch(int entry);
    void check(int entry);
    void checked(int entry, const std::optional<Error> &error);
    void follow(int entry);
    void ended(int entry);
    void refused(int entry, const Error &error, int exitCode);
    void closeQueue(EntryState state, const QString &reason);
    void relaunch(int entry);
    void launchFailed(int entry, const Error &error, int exitCode);
    void over(int entry, EntryState state, const QString &reason = {});
    void setState(int entry, EntryState state, const QString &reason = {});
    void save();
    void poll();
    void stopRun(int entry, const QString &by);
    void interrupted(int entry);
    bool folderGone();
    void finish(int exitCode, const QString &sentence);
    [[nodiscard]] ExperimentEntry &at(int entry) { return m_experiment.entries[std::size_t(entry)]; }

    Experiment m_experiment;
    CommandPrefix m_prefix;
    std::function<std::string(const RunConfig &)> m_torchReason;
    std::optional<FileLock> m_lock;
    HeldFolder m_folder;
    std::map<int, UnderWay> m_underWay; ///< by entry
    QTimer m_poll;
    bool m_stopping = false, m_finished = false;
    std::optional<std::pair<int, QString>> m_refused; ///< exit code and why, to be told when no run goes on
    QString m_stoppedBy, m_skippedBy;
    int m_exitCode = 0;
    QString m_sentence;
};

} // namespace lockstep::core
