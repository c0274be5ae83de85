// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <vector>

#include "nodes/topology.h"
#include "store/run_store.h"

namespace lockstep::core {

/// What a rank sends to other ranks in a step, in bytes.
struct RankTraffic {
    int rank = 0;
    double counted = 0;            ///< by the kernel's count of its TCP connections, mean over the run so far
    std::optional<double> formula; ///< what its method's flows add up to; absent: no formula, or the model is not known
    std::vector<TopologyFlow> flows{}; ///< from this rank: of the formula, or told apart by what all ranks sent
    bool operator==(const RankTraffic &) const = default;
};

/// Of each rank whose traffic was counted, on CPU devices; empty for one process.
[[nodiscard]] std::vector<RankTraffic> trafficOf(const RunStore &run);

} // namespace lockstep::core
