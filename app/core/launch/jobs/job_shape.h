// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "experiment/plan.h"

namespace lockstep::core {

/// A run's processes by node. Ranks are prefix sums: with {2, 1} node 1 begins at rank 2.
struct JobShape {
    std::vector<int> processes; ///< at least one entry, each at least 1
    [[nodiscard]] int nodes() const { return int(processes.size()); }
    [[nodiscard]] int worldSize() const;
    [[nodiscard]] bool even() const; ///< all nodes have the same number
};

/// Distributes a run's processes over `nodes` nodes as evenly as possible; the first nodes get one more. If the run
/// names its nodes (RunConfig::nodes), those are used and `nodes` must be 0 or their number. BadArgument: more nodes
/// than processes, or several nodes for a single-process method.
[[nodiscard]] Result<JobShape> jobShape(const RunConfig &config, int nodes);

/// The config for the trainers of a node with that many processes if a scheduler assigns the devices: they are
/// numbered from 0, and interface and loading workers' cores of this machine are removed.
[[nodiscard]] RunConfig configOfShare(const RunConfig &config, int processes);

/// Those devices: "0", "1", ….
[[nodiscard]] std::vector<std::string> devicesOfShare(const RunConfig &config, int processes);

/// The command that each process runs: the trainer or a script, with its arguments. BadArgument for a script that comes
/// with Lockstep or lies next to its recipe: its path is meaningless on another machine. `checkpoints`: the trainer's folder for them where
/// restarts need one and the run names none; empty: the agent will give it one.
[[nodiscard]] Result<std::vector<std::string>> jobCommand(const PlannedRun &run, int processes,
                                                          const std::string &checkpoints = {});

/// "DDP on 2 devices, 'quoted'" as a name that schedulers accept: lower-case letters, digits and '-', at most `longest`
/// characters, starting with a letter; never empty.
[[nodiscard]] std::string jobName(std::string_view title, std::size_t longest = 40);

/// The most that a job's text may have, in any launcher's language: quotes and nodes multiply what a recipe has.
inline constexpr std::size_t mostJobBytes = 64 * 1024 * 1024;
/// BadArgument for a text of more bytes than that; `run`: the name of the run that it has last.
[[nodiscard]] Result<void> checkJobBytes(std::size_t bytes, std::string_view run);

/// A title that is safe in a comment line: no control characters, at most 200 bytes.
[[nodiscard]] std::string commentText(std::string_view text);

} // namespace lockstep::core
