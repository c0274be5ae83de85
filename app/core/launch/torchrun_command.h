// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "experiment/plan.h"

namespace lockstep::core {

/// Each node's command names all nodes: of a run on more than these, the commands of the first ones are written.
inline constexpr std::size_t mostNodesInFull = 64, nodesOfVeryMany = 4;

/// The equivalent torchrun (or shell) command: "torchrun --no-python --nproc-per-node 2 lockstep-trainer …". Over nodes one a line, and a
/// last line, a comment, of those that are left out.
[[nodiscard]] std::string torchrunCommand(const RunConfig &config);
/// The same for a planned run, which may run a script: "torchrun --nproc-per-node 2 /…/train.py" or "python3 …".
[[nodiscard]] std::string torchrunCommand(const PlannedRun &run);

} // namespace lockstep::core
