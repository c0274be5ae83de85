// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <QObject>
#include <QTimer>

#include "queue/owned_experiment.h"
#include "queue/queue_run.h"

namespace lockstep::core {

/// Owns an experiment's queue: one agent after another, or as many at once as the experiment allows, until all are over. One
/// owner by lock (OwnedExperiment). No run starts before it is written to the disk. If the owner is killed at any moment, a new one
/// for the same experiment attaches to the current runs and continues. QueueRun handles a single run.
///
/// The order of the queue also holds side by side: the first waiting run starts as soon as there is room for it, and those
/// behind it wait until then.
class ExperimentRunner : public QObject {
    Q_OBJECT
public:
    explicit ExperimentRunner(QObject *parent = nullptr);
    ~ExperimentRunner() override;

    /// Takes the lock and reads the experiment; an error names the owner's pid. Nothing is started yet.
    [[nodiscard]] Result<void> own(const std::string &experimentId);
    /// Sets the function that explains the nodes' line of PyTorch for RunRecord::torchReason; without it nothing is
    /// recorded.
    void setTorchReason(std::function<std::string(const RunConfig &)> reason) { m_torchReason = std::move(reason); }
    /// Sets the function that measures the intervals of an experiment with a goal; without it no round is added.
    void setWidth(std::function<WidthReached(const Experiment &)> width) { m_width = std::move(width); }
    void start();
    /// Stops the current runs (checkpoint, exit 130) and marks the rest stopped; finished() follows, unless a request queues something
    /// before the current runs have ended.
    void stop(const QString &by);

    [[nodiscard]] const Experiment &experiment() const { return m_queue->experiment(); } ///< after own()
    /// 0 all done, 1 one failed, 2 refused, 130 stopped. Valid after finished().
    [[nodiscard]] int exitCode() const { return m_exitCode; }
    [[nodiscard]] QString sentence() const { return m_sentence; } ///< why not 0
    /// Removes the experiment's folder after a refusal before anything ran; not one that named runs of others.
    void discard();

Q_SIGNALS:
    void experimentChanged();
    void checking(int entry); ///< its devices are checked before the first run over them
    void runStarted(int entry, lockstep::core::RunStore *store); ///< store lives until runFinished
    void runFinished(int entry);
    void widthMeasured(); ///< after a round, in experiment().until: rounds were added, or it is settled
    void finished(int exitCode);

private:
    /// A run that is being launched or runs.
    struct UnderWay {
        QueueRun *run = nullptr;          ///< our child
        bool inherited = false;           ///< started by an earlier owner
        std::optional<QString> stoppedBy; ///< it is being stopped with the whole queue
        std::optional<QString> skippedBy; ///< it is being stopped alone
    };
    UnderWay &underWay(int entry);
    void next();
    void leaveTurns();
    bool startNext();
    void addRoundsForWidth();
    void resume(int entry);
    bool launch(int entry, const std::string &id = {});
    void follow(int entry);
    void ended(int entry);
    bool leftAlone(int entry);
    void refused(int entry, const Error &error);
    [[nodiscard]] bool reachedBefore(const std::string &host) const;
    void neverRan(int entry, EntryState state, const QString &reason);
    void over(int entry, EntryState state, const QString &reason = {});
    void drop(int entry);
    void setState(int entry, EntryState state, const QString &reason = {});
    bool save();
    void reportUnsaved(const Error &why);
    void poll();
    void takeRequests();
    bool goesOn();
    bool take(const PendingRequest &pending);
    void interrupted(int entry);
    bool folderGone();
    void finish(int exitCode, const QString &sentence);
    [[nodiscard]] ExperimentEntry &at(int entry) { return m_queue->at(entry); }

    std::optional<OwnedExperiment> m_queue; ///< from own() on
    std::function<std::string(const RunConfig &)> m_torchReason;
    std::function<WidthReached(const Experiment &)> m_width;
    std::map<int, UnderWay> m_underWay; ///< by entry
    QTimer m_poll;
    bool m_finished = false;
    bool m_unsaved = false;             ///< the queue's state could not be written: no run starts until it could
    bool m_taking = false;              ///< takeRequests() goes on
    bool m_namedOthers = false;         ///< runs that are none of the experiment's
    std::optional<QString> m_refused;   ///< why, reported when no run goes on; until something is queued again
    std::optional<QString> m_stoppedBy; ///< the queue is being stopped; until something is queued again
    int m_exitCode = 0;
    QString m_sentence;
};

} // namespace lockstep::core
