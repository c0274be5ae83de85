// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <vector>

#include "experiment/plan.h"
#include "store/run_data.h"

namespace lockstep::core {

/// A run's setting as far as it is known: RunConfig's keys and values as text. All of them for lockstep-trainer; for a
/// script what is known of its configuration, and beyond that what it reported about itself.
using RunFacts = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] RunFacts factsOf(const RunConfig &config);
[[nodiscard]] RunFacts factsOf(const RunOutcome &outcome);

/// Contradictions between a script and the recipe that started it: "the script says workers 2, the recipe 4".
[[nodiscard]] std::vector<std::string> contradictions(const RunOutcome &outcome);

} // namespace lockstep::core
