#pragma once
// Slurm's queue as its own programs tell it. squeue's fixed formats are read, not --json: those have meant the same in every
// version, while the JSON's shape has changed from one to the next. Blocking calls: not for the GUI thread.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

/// One job, or one task of an array.
struct SlurmJob {
    std::string id;    ///< "12", "12_3": as people name it
    std::string rawId; ///< the task's own number, for srun --jobid
    std::string array; ///< of which array; its own number otherwise
    std::optional<int> task;
    std::string state;  ///< PENDING, RUNNING, COMPLETING, …
    std::string reason; ///< why it waits: "Resources", "Priority", …; empty when it doesn't
    std::string node;   ///< the first one, where agent 0 is; empty while it waits
    std::string start;  ///< local time as Slurm prints it: begun, or expected while it waits; empty: unknown
    std::string partition, name;
    std::optional<long long> priority;
    std::optional<int> place; ///< while it waits: from 1, among the partition's waiting jobs that this user may see
    [[nodiscard]] bool waits() const { return state == "PENDING"; }
    [[nodiscard]] bool runs() const { return state == "RUNNING"; }
    bool operator==(const SlurmJob &) const = default;
};

/// What squeue is asked for, as its -o takes it.
[[nodiscard]] std::string squeueFormat();
/// Its lines. Lines that are none are left out.
[[nodiscard]] std::vector<SlurmJob> jobsFromSqueue(std::string_view text);
/// Gives those that wait their places: by priority within their partition, then by number.
void numberPlaces(std::vector<SlurmJob> &jobs);
/// In words what a reason means, where that is worth saying: "Resources" is "waits for nodes to become free".
[[nodiscard]] std::string reasonInWords(std::string_view reason);

/// All jobs that squeue shows, numbered. Failed: no squeue, no answer within 20 s.
[[nodiscard]] Result<std::vector<SlurmJob>> slurmJobs();
/// The tasks of one job or array.
[[nodiscard]] std::vector<SlurmJob> jobsOf(const std::vector<SlurmJob> &jobs, std::string_view array);
/// Submits a script's text; the job's number.
[[nodiscard]] Result<std::string> submitToSlurm(const std::string &script, const std::string &log);
/// scancel: asks every rank to stop after a checkpoint.
[[nodiscard]] Result<void> cancelSlurmJob(const std::string &job);

} // namespace lockstep::core
