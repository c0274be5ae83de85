// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

/// A lockstep-trainer on this machine and the agent that starts it.
struct LocalLine {
    std::string version; ///< of its PyTorch: "2.11.0+cu130"
    std::string agent, trainer;
    std::string facts = {}; ///< output of the trainer's --facts, without CUDA: one JSON object
    bool torchHere = true;  ///< false: its PyTorch is not on this machine; it serves nodes that have their own
};
/// One for each line of PyTorch that is built here: first the one next to the agent, then those of `./run --lines` in
/// LOCKSTEP_LINES, ../lines or (packages) ../lib/lockstep/lines from the agent. Runs each trainer for its version:
/// about 0.3 s. Blocks.
[[nodiscard]] std::vector<LocalLine> localLines();
/// The trainer for this version's line. The error says how to build it.
[[nodiscard]] Result<LocalLine> localLine(const std::vector<LocalLine> &lines, std::string_view version);
[[nodiscard]] std::vector<std::string> versionsOf(const std::vector<LocalLine> &lines);

} // namespace lockstep::core
