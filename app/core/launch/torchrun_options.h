// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/run_config.h"

namespace lockstep::core {

/// torchrun's options besides the command.
struct TorchrunPlace {
    int nodes = 1;
    std::string node = "0";  ///< this one's number
    int processes = 1;       ///< on this node
    std::string master;      ///< node 0's address; empty: torchrun's own default, where there is one node
    std::optional<int> port; ///< on which node 0 listens; absent: torchrun's own default
};

/// Flags and their values, empty for a switch: {"--nnodes", "2"}, …. One node restarts its ranks as often as the config says; several
/// nodes don't: each node's torchrun counts its own failures, so that they would not meet again in the same attempt.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> torchrunOptions(const RunConfig &config,
                                                                               const TorchrunPlace &place);
/// Whether torchrun will restart the ranks of such a run.
[[nodiscard]] bool torchrunRestarts(const RunConfig &config, int nodes);

/// The same training with its checkpoints in `folder`, if the config names none: torchrun has no folder for a run. Empty: unchanged.
[[nodiscard]] RunConfig withCheckpointsIn(const std::string &folder, RunConfig config);

} // namespace lockstep::core
