// SPDX-License-Identifier: MIT
#pragma once
// Reads Slurm's queue from its own programs. Uses squeue's fixed formats, not --json: they mean the same in every
// version, while the JSON has changed between versions. Blocking calls: not for the GUI thread.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

/// One job, or one task of an array.
struct SlurmJob {
    std::string id;    ///< "12", "12_3": as users write it
    std::string rawId; ///< the task's own number, for srun --jobid
    std::string array; ///< the array's number, or its own without one
    std::optional<int> task;
    std::string state;  ///< PENDING, RUNNING, COMPLETING, …
    std::string reason; ///< why it waits: "Resources", "Priority", …; else empty
    std::string node;   ///< the first one, where agent 0 is; empty while it waits
    std::string start;  ///< start in local time as Slurm prints it, expected while it waits; empty: unknown
    std::string partition;
    std::optional<long long> priority;
    std::optional<int>
        place; ///< while it waits: position from 1 among the partition's waiting jobs visible to this user
    [[nodiscard]] bool waits() const { return state == "PENDING"; }
    [[nodiscard]] bool runs() const { return state == "RUNNING"; }
    bool operator==(const SlurmJob &) const = default;
};

/// squeue's -o format. It has no job's name or comment: squeue prints their newlines, after which anything may stand.
[[nodiscard]] std::string squeueFormat();
inline constexpr std::size_t mostSlurmJobs = 100'000;
/// What is taken of squeue's answer.
struct SlurmJobs {
    std::vector<SlurmJob> jobs; ///< mostSlurmJobs at most
    bool more = false;          ///< squeue named further ones
    /// A sentence on further ones; empty: there are none.
    [[nodiscard]] std::string leftOut() const;
};
/// Parses its lines; skips malformed ones. `array`: takes only the tasks of that job or array; empty: all.
[[nodiscard]] SlurmJobs jobsFromSqueue(std::string_view text, std::string_view array = {});
/// squeue's -o format of everybody's waiting jobs, among which these have their places.
[[nodiscard]] std::string waitingFormat();
/// Numbers those of the jobs that wait by squeue's lines in waitingFormat(), which name them, too: by priority within their partition,
/// then by job number. Keeps nothing of the lines.
void numberPlaces(std::vector<SlurmJob> &jobs, std::string_view waiting);
/// Explains a reason in words: "Resources" is "it waits for free nodes". Empty if it needs no explanation.
[[nodiscard]] std::string reasonInWords(std::string_view reason);

/// This user's jobs that squeue shows, with their places, as jobsFromSqueue() takes them. Fails without squeue, or without an answer
/// within 20 s.
[[nodiscard]] Result<SlurmJobs> slurmJobs(std::string_view array = {});
/// The tasks of one job or array.
[[nodiscard]] std::vector<SlurmJob> jobsOf(const std::vector<SlurmJob> &jobs, std::string_view array);
/// What came of a submission.
struct Submitted {
    std::string job; ///< its number; empty: none is known
    Error error;     ///< then why
    /// The job may be in Slurm's queue nevertheless, or come in later: sbatch did not answer in time, or neither it nor squeue can say.
    bool unknown = false;
};
/// Submits a script's text. `mark` is the script's --comment, by which a job is found that sbatch did not report.
[[nodiscard]] Submitted submitToSlurm(const std::string &script, const std::string &log, const std::string &mark);
/// The number of this user's job with that --comment; empty: squeue shows none. An error, too, if there are several.
[[nodiscard]] Result<std::string> slurmJobMarked(const std::string &mark);
/// Whether squeue shows that job, by its number, as this user's and with that --comment.
[[nodiscard]] Result<bool> isSlurmJobMarked(const std::string &job, const std::string &mark);
/// scancel: asks every rank to stop after a checkpoint.
[[nodiscard]] Result<void> cancelSlurmJob(const std::string &job);

} // namespace lockstep::core
