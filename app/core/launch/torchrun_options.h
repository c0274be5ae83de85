// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/run_config.h"

namespace lockstep::core {

/// What torchrun must be told besides the command.
struct TorchrunPlace {
    std::string job; ///< the same on all nodes; tells restarts of this job from another one's
    int nodes = 1;
    std::string node = "0";  ///< this one's number
    int processes = 1;       ///< on this node
    std::string master;      ///< node 0's address; empty: torchrun's own default, where there is one node
    std::optional<int> port; ///< on which node 0 listens; absent: torchrun's own default
};

/// Flags and their values: {"--nnodes", "2"}, …. With restarts, several nodes meet by torchrun's c10d rendezvous: its static one does
/// not bring the nodes together again. Then torchrun numbers the nodes.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> torchrunOptions(const RunConfig &config,
                                                                               const TorchrunPlace &place);

/// The trainer's config under torchrun, which has no folder for a run: its checkpoints go into `folder` where restarts need some and
/// no folder is chosen.
[[nodiscard]] RunConfig withCheckpointsIn(const std::string &folder, RunConfig config);

} // namespace lockstep::core
