// SPDX-License-Identifier: MIT
#pragma once
// An experiment whose queue is Slurm's. Next to experiment.json are job.sbatch, the script, and slurm.json, which
// records its job and the run of each task. Slurm decides what runs when; the experiment's owner (SlurmWatch, by lock)
// only records the state. The jobs run without an owner, and the next one finds everything in squeue and the run
// folders.
#include <set>
#include <string>
#include <vector>

#include <QObject>
#include <QTimer>

#include "ipc/unix_socket.h"
#include "queue/slurm/slurm_queue.h"
#include "queue/slurm/slurm_script.h"

namespace lockstep::core {

/// slurm.json
struct SlurmRecord {
    std::string job;               ///< empty: not submitted yet
    std::vector<int> entries;      ///< the experiment's entries, by task
    std::vector<std::string> runs; ///< run id of the first attempt, by task
    bool cancelled = false;        ///< by us
    bool unanswered = false;       ///< sbatch was asked and has not said whether it took the job
    bool operator==(const SlurmRecord &) const = default;
};
[[nodiscard]] std::string toJson(const SlurmRecord &record);
/// Refuses entries that are not distinct or that no plan has; the experiment may have fewer (entryOf).
[[nodiscard]] Result<SlurmRecord> slurmRecordFromJson(std::string_view text);

struct SlurmFiles {
    std::string script, record, log; ///< log: sbatch's --output pattern
};
[[nodiscard]] SlurmFiles slurmFiles(std::string_view experiment);
[[nodiscard]] bool isSlurmExperiment(std::string_view experiment);
[[nodiscard]] Result<SlurmRecord> readSlurmRecord(std::string_view experiment);
[[nodiscard]] Result<void> writeSlurmRecord(std::string_view experiment, const SlurmRecord &record);

/// What readSlurmRecord() gives, with the job of a submission that Slurm did not answer, if Slurm has it by now: its number is written down.
/// An error, too, if that is unknown or the job has run. Asks squeue only for such a submission. Blocking.
[[nodiscard]] Result<SlurmRecord> findSlurmJob(std::string_view experiment);

/// Writes experiment, script and record; nothing is submitted.
[[nodiscard]] Result<void> saveSlurmExperiment(const Experiment &experiment, const SlurmPlace &place);
struct SlurmSubmission {
    std::string job;       ///< its number; empty: unknown
    Result<void> recorded; ///< an error: the job is, or may be, in Slurm's queue, and slurm.json doesn't say so
};
/// Submits its script, which may have been edited. An error: there is no job, or there was one before. An empty number:
/// Slurm did not say whether it took the job; asked again, this looks for it first.
[[nodiscard]] Result<SlurmSubmission> submitSlurmExperiment(std::string_view experiment);
/// The entry that a task of the job runs; null if the record, which may be another's, names none.
[[nodiscard]] const ExperimentEntry *entryOf(const Experiment &experiment, const SlurmRecord &record, std::size_t task);

/// One attempt at a run, as found on disk.
struct SlurmAttempt {
    std::string run;
    RunStatus status;
    int restarts = 0;   ///< how often its job was requeued before
    bool lives = false; ///< its agent is seen to live
};
/// Updates the experiment from the jobs in Slurm's queue and the attempts on disk (by task, oldest first). Returns
/// whether anything changed.
bool reconcile(Experiment &experiment, const SlurmRecord &record, const std::vector<SlurmJob> &jobs,
               const std::vector<std::vector<SlurmAttempt>> &attempts);
/// Attempts of every task, from the runs folder: by the restarts of the job, since the clocks of its nodes may differ. A run counts
/// once its record is there and names the experiment, and is an attempt of one task only.
[[nodiscard]] std::vector<std::vector<SlurmAttempt>> slurmAttempts(const SlurmRecord &record,
                                                                   std::string_view experiment);

/// Of an experiment that is over and that nobody owns: a result that has come since wins over what the entry was taken for.
[[nodiscard]] Result<void> takeLateResults(const std::string &id);

/// "DDP on 2 devices: job 12_1 waits, place 2, Priority: jobs of higher priority come first; expected to start 2026-…".
[[nodiscard]] std::string waitSentence(const std::string &name, const SlurmJob &job);

/// Asks Slurm to cancel what `job` names, the record's job or one task of it, and then writes down that it was. Refused unless squeue
/// shows the record's job with this experiment's mark: a folder that was copied here names somebody else's job.
[[nodiscard]] Result<void> cancelSlurmExperiment(const std::string &experiment, SlurmRecord record,
                                                 const std::string &job);

struct QueueRequest;
/// What the queue's owner does with a request, and whoever asks while there is no owner: a stop is scancel's, all else is refused,
/// since the queue is Slurm's.
[[nodiscard]] Result<void> askSlurmQueue(const std::string &experiment, const QueueRequest &request);

/// Owns such an experiment until it is over: polls squeue and the run folders, writes experiment.json, and turns a
/// stop into scancel (askSlurmQueue). LOCKSTEP_SQUEUE_S: seconds between polls of squeue (5).
class SlurmWatch : public QObject {
    Q_OBJECT
public:
    explicit SlurmWatch(QObject *parent = nullptr);
    /// Takes the lock; an error names the owner.
    [[nodiscard]] Result<void> own(const std::string &experiment);
    void start();
    [[nodiscard]] const Experiment &experiment() const { return m_experiment; }

Q_SIGNALS:
    void changed(); ///< experiment()
    void finished();

private:
    void poll();
    void takeRequests();

    Experiment m_experiment;
    SlurmRecord m_record;
    std::optional<FileLock> m_lock;
    QTimer m_timer;
    int m_absent = 0; ///< answers in a row without the job
    std::string m_lastError, m_lastRefusal;
    std::set<std::string> m_left; ///< requests that are done with and could not be removed
};

} // namespace lockstep::core
