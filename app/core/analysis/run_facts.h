#pragma once
#include <map>
#include <string>
#include <vector>

#include "launch/plan.h"
#include "store/run_data.h"

namespace lockstep::core {

/// A run's setting as far as it is known: RunConfig's keys and values as text. All of them for lockstep-trainer; for a
/// script without a config what it said of itself.
using RunFacts = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] RunFacts factsOf(const RunConfig &config);
[[nodiscard]] RunFacts factsOf(const RunOutcome &outcome);

/// "workers 0 and 4; seed 1 and 2": where both are known, unlike, and neither meant nor in `varies`. Empty: nowhere.
[[nodiscard]] std::string unlikeText(const RunFacts &a, const RunFacts &b, const std::vector<std::string> &varies);

/// Where a script says otherwise than the recipe that started it: "the script says workers 2, the recipe 4".
[[nodiscard]] std::vector<std::string> contradictions(const RunOutcome &outcome);

} // namespace lockstep::core
