// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "store/run_data.h"

namespace lockstep::core {

using RepeatsTogether = std::vector<const RunOutcome *>;

/// Runs side by side, those that are repeats of each other together, in the order in which each group first comes: of one name,
/// config, command, machines and files. They may have had unlike amounts of work. They point to `outcomes`.
[[nodiscard]] std::vector<RepeatsTogether> repeatsTogether(const std::vector<RunOutcome> &outcomes);

} // namespace lockstep::core
