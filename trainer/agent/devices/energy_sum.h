// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ipc/run_folder.h"

namespace lockstep::agent {

struct NodeEnergy {
    std::string title;            ///< names the node in sentences
    std::optional<Energy> energy; ///< absent: it did not report any
};

/// The energy of all nodes of a run, of at least one. A sum with an unknown part would be too small, so a kind of energy that is
/// unknown of any node is unknown, and the sentence names the first such node. Packages that several nodes share, being on
/// one machine, count once.
[[nodiscard]] Energy energyOfAll(const std::vector<NodeEnergy> &nodes);

} // namespace lockstep::agent
