// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ipc/run_config.h"
#include "ipc/script_claims.h"

namespace lockstep::core {

/// Whether a list has a run already. A configuration can name thousands of nodes, so a run is compared only with those that are very
/// likely the same.
class RunFinder {
public:
    /// Whether the run is new; then it counts as the next of the list. `same`: whether it is the run at that place of the list.
    [[nodiscard]] bool add(const RunConfig &config, const std::vector<std::string> &command, const ScriptClaims &claims,
                           const std::function<bool(std::size_t earlier)> &same);

private:
    std::unordered_multimap<std::size_t, std::size_t> m_runs; ///< places in the list by a hash of the run
};

} // namespace lockstep::core
