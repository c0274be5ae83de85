// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ipc/run_folder.h"

namespace lockstep::agent {

struct NodeSurroundings {
    std::string title;                  ///< names the node
    std::optional<Surroundings> around; ///< of this node alone, with its free cores; absent: it did not report any
};

/// What went on around a run of several nodes. Ranks wait for the slowest one, so this is not a sum: others' load and
/// stolen time are those of the node that was loaded most, throttling is that of the node that was held down longest.
/// Nodes that report nothing are counted. Absent where none reports anything.
[[nodiscard]] std::optional<Surroundings> surroundingsOfAll(const std::vector<NodeSurroundings> &nodes);

/// The first node's, with the waiting of all nodes' ranks: unknown where one node's is. `nodes` has at least one.
[[nodiscard]] std::optional<Watching> watchingOfAll(const std::vector<std::optional<Watching>> &nodes);

} // namespace lockstep::agent
