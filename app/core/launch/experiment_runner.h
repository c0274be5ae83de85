#pragma once
#include <memory>
#include <optional>

#include <QObject>
#include <QTimer>

#include "ipc/held_folder.h"
#include "ipc/unix_socket.h"
#include "launch/queue_request.h"

namespace lockstep::core {
class NodesLauncher;
class RunFollower;
class RunStore;

/// Owns an experiment's queue: one agent after another, until all are over. One owner by lock. Killed at any moment, a
/// new one on the same experiment attaches to the run that still runs and goes on.
class ExperimentRunner : public QObject {
    Q_OBJECT
public:
    explicit ExperimentRunner(QObject *parent = nullptr);
    ~ExperimentRunner() override;

    /// Takes the lock and reads the experiment; an error names the owner's pid. Nothing is started yet.
    [[nodiscard]] Result<void> own(const std::string &experimentId);
    void start();
    /// Stops the current run (checkpoint, exit 130) and marks the rest stopped; finished() follows.
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
    void runStarted(int entry, lockstep::core::RunStore *store); ///< store lives until runFinished
    void runFinished(int entry);
    void finished(int exitCode);

private:
    [[nodiscard]] CommandPrefix prefixOf(const ExperimentEntry &entry) const;
    void next();
    void launch(int entry);
    void follow(int entry);
    void ended(int entry);
    void refused(int entry, const Error &error, int exitCode);
    void closeQueue(EntryState state, const QString &reason);
    void relaunch(int entry);
    void launchFailed(int entry, const Error &error, int exitCode);
    void setState(int entry, EntryState state, const QString &reason = {});
    void save();
    void poll();
    void stopCurrent(const QString &by);
    void askAgain(int entry, const QString &by);
    void interrupted(int entry);
    bool folderGone();
    void finish(int exitCode, const QString &sentence);

    Experiment m_experiment;
    CommandPrefix m_prefix;
    std::optional<FileLock> m_lock;
    HeldFolder m_folder;
    std::unique_ptr<NodesLauncher> m_launcher;
    int m_attempts = 0; ///< at launching the present entry over a failing link
    std::unique_ptr<RunStore> m_store;
    std::unique_ptr<RunFollower> m_follower;
    QTimer m_poll;
    bool m_stopping = false, m_finished = false;
    std::optional<int> m_skipping;  ///< the entry whose run is being stopped alone
    std::optional<int> m_inherited; ///< an earlier owner's run, met when the queue was taken up
    QString m_stoppedBy, m_skippedBy;
    int m_exitCode = 0;
    QString m_sentence;
};

} // namespace lockstep::core
