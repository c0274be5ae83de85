#pragma once
#include <string>
#include <vector>

#include "launch/plan.h"

namespace lockstep::core {

/// The processes of one run, by node. Ranks are prefix sums: with {2, 1} node 1 begins at rank 2.
struct JobShape {
    std::vector<int> processes; ///< at least one entry, each at least 1
    [[nodiscard]] int nodes() const { return int(processes.size()); }
    [[nodiscard]] int worldSize() const;
    [[nodiscard]] bool even() const; ///< every node has as many
};

/// A run's processes over `nodes` nodes, as evenly as they go, the first nodes having one more; of a run that names its
/// nodes itself (RunConfig::nodes), those, and `nodes` is 0 or their number. BadArgument: more nodes than processes, or
/// several nodes for a method of one process.
[[nodiscard]] Result<JobShape> jobShape(const RunConfig &config, int nodes);

/// The config as the trainers of a node with that many processes are given it where a scheduler hands devices out: its
/// own, counted from 0. No interface, no cores of this machine for loading workers.
[[nodiscard]] RunConfig configOfShare(const RunConfig &config, int processes);

/// What stands in lockstep-trainer's place with its arguments: a script's words, or the trainer's. A script that comes
/// with Lockstep or lies beside its recipe can't be told to another machine: BadArgument.
[[nodiscard]] Result<std::vector<std::string>> jobCommand(const PlannedRun &run, int processes);

/// "DDP ×2, 'quoted'" as a name that schedulers take: lower-case letters, digits and '-', at most `longest` characters,
/// beginning with a letter; never empty.
[[nodiscard]] std::string jobName(std::string_view title, std::size_t longest = 40);

/// A title as the end of one comment line: no control characters, at most 200 bytes.
[[nodiscard]] std::string commentText(std::string_view text);

} // namespace lockstep::core
