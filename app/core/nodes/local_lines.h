#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

/// A lockstep-trainer on this machine, and the agent that starts it.
struct LocalLine {
    std::string version; ///< of its PyTorch: "2.11.0+cu130"
    std::string agent, trainer;
    std::string facts = {}; ///< what the trainer said of itself (--facts, without CUDA): one JSON object
    bool torchHere =
        true; ///< false: an installed trainer whose PyTorch is not on this machine; it serves nodes that have theirs
};
/// One for each line of PyTorch that is built here: the one beside the agent first, then those of `./run --lines` in
/// LOCKSTEP_LINES, ../lines or (packages) ../lib/lockstep/lines from the agent. Asks each trainer for its version: about 0.3 s.
/// Blocks.
[[nodiscard]] std::vector<LocalLine> localLines();
/// The one of this version's line. The error says how it is built.
[[nodiscard]] Result<LocalLine> localLine(const std::vector<LocalLine> &lines, std::string_view version);
[[nodiscard]] std::vector<std::string> versionsOf(const std::vector<LocalLine> &lines);

} // namespace lockstep::core
