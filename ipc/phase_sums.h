// SPDX-License-Identifier: MIT
#pragma once
// How phases of a step are added up: over windows and ranks, to a step's whole, and as shares of it.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/frames.h"

namespace lockstep {

/// Seconds by phase name; a phase that was not measured is absent.
using PhaseSeconds = std::map<std::string, double, std::less<>>;

/// Phases that lie inside the additive ones, in the order they are drawn. `comm` is not among them: it overlaps backward,
/// so it has no place in a stack.
[[nodiscard]] const std::vector<std::string_view> &nestedPhases();

/// Adds the sums; the maximum is the larger one.
void add(PhaseTimes &sum, const PhaseTimes &more);
/// The sums alone.
[[nodiscard]] PhaseSeconds secondsOf(const PhaseTimes &phases);
/// Sum of the phases that add up to an epoch, in seconds.
[[nodiscard]] double additiveSum(const PhaseTimes &phases);
[[nodiscard]] double additiveSum(const PhaseSeconds &phases);
/// What one phase is of that sum, 0 to 1. Absent when the phase was not measured or the sum is 0.
[[nodiscard]] std::optional<double> additiveShare(const PhaseSeconds &phases, std::string_view phase);

} // namespace lockstep
