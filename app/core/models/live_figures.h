// SPDX-License-Identifier: MIT
#pragma once
// What Live draws of one run besides its curves, as plain values.
#include <optional>
#include <string>
#include <vector>

namespace lockstep::core {
class RunStore;

/// Median duration of the complete epochs, in s; absent when none is complete.
[[nodiscard]] std::optional<double> medianEpochS(const RunStore &run);

struct StepPhase {
    std::string phase;  ///< wire name
    double seconds = 0; ///< mean per step
    bool operator==(const StepPhase &) const = default;
};
/// Where a step of one rank goes; phases that were not measured are absent.
struct RankStep {
    int rank = 0;
    std::vector<StepPhase> additive; ///< they add up to the step
    std::vector<StepPhase> nested;   ///< they lie inside those
};
/// A row for each rank that reported itself, over the whole run so far.
[[nodiscard]] std::vector<RankStep> rankSteps(const RunStore &run);

} // namespace lockstep::core
