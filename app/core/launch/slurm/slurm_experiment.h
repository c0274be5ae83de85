#pragma once
// An experiment whose queue is Slurm's: beside experiment.json lie job.sbatch, the script, and slurm.json, which job it became
// and which run each of its tasks is. Slurm decides what runs when; whoever owns the experiment (SlurmWatch, by lock) writes
// down how it stands. Nobody need: the jobs run without, and the next owner finds everything in squeue and the run folders.
#include <string>
#include <vector>

#include <QObject>
#include <QTimer>

#include "ipc/unix_socket.h"
#include "launch/slurm/slurm_queue.h"
#include "launch/slurm/slurm_script.h"

namespace lockstep::core {

/// slurm.json
struct SlurmRecord {
    std::string job;               ///< empty: not submitted yet
    std::vector<int> entries;      ///< of the experiment, by task
    std::vector<std::string> runs; ///< the first attempt's run id, by task
    bool cancelled = false;        ///< by us
    bool operator==(const SlurmRecord &) const = default;
};
[[nodiscard]] std::string toJson(const SlurmRecord &record);
[[nodiscard]] Result<SlurmRecord> slurmRecordFromJson(std::string_view text);

struct SlurmFiles {
    std::string script, record, log; ///< log: as sbatch --output takes it
};
[[nodiscard]] SlurmFiles slurmFiles(std::string_view experiment);
[[nodiscard]] bool isSlurmExperiment(std::string_view experiment);
[[nodiscard]] Result<SlurmRecord> readSlurmRecord(std::string_view experiment);
[[nodiscard]] Result<void> writeSlurmRecord(std::string_view experiment, const SlurmRecord &record);

/// Writes experiment, script and record; nothing is submitted.
[[nodiscard]] Result<void> saveSlurmExperiment(const Experiment &experiment, const SlurmPlace &place);
/// Submits its script as it lies there now (it may have been edited); the job's number. An error when it was before.
[[nodiscard]] Result<std::string> submitSlurmExperiment(std::string_view experiment);

/// What is on disk of one attempt at a run.
struct SlurmAttempt {
    std::string run;
    RunStatus status;
};
/// How the experiment stands by the jobs in Slurm's queue and what the runs left, oldest attempt first, by task. Whether
/// anything changed.
bool reconcile(Experiment &experiment, const SlurmRecord &record, const std::vector<SlurmJob> &jobs,
               const std::vector<std::vector<SlurmAttempt>> &attempts);
/// Attempts of every task, from the runs folder.
[[nodiscard]] std::vector<std::vector<SlurmAttempt>> slurmAttempts(const SlurmRecord &record);

/// "DDP ×2: job 12_1 waits, place 2, Priority: jobs of higher priority come first; expected to start 2026-…".
[[nodiscard]] std::string waitSentence(const std::string &name, const SlurmJob &job);

/// Owns such an experiment until it is over: looks at squeue and at the run folders, writes experiment.json, and takes a
/// stop to scancel. LOCKSTEP_SQUEUE_S: seconds between two looks at squeue (5).
class SlurmWatch : public QObject {
    Q_OBJECT
public:
    explicit SlurmWatch(QObject *parent = nullptr);
    /// Takes the lock; an error names the owner.
    [[nodiscard]] Result<void> own(const std::string &experiment);
    void start();
    [[nodiscard]] const Experiment &experiment() const { return m_experiment; }

Q_SIGNALS:
    void finished();

private:
    void look();
    void takeRequests();

    Experiment m_experiment;
    SlurmRecord m_record;
    std::optional<FileLock> m_lock;
    QTimer m_timer;
    std::string m_lastError;
};

} // namespace lockstep::core
