// SPDX-License-Identifier: MIT
#pragma once
// Adds up the phases of steps: over windows and ranks, to whole steps, and as shares of a step.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/frames.h"

namespace lockstep {

/// Seconds by phase name; a phase that was not measured is absent.
using PhaseSeconds = std::map<std::string, double, std::less<>>;

/// Phases that lie inside the additive ones, in drawing order. `comm` is not among them: it overlaps backward, so it
/// cannot be stacked.
[[nodiscard]] const std::vector<std::string_view> &nestedPhases();

/// Adds the sums; of the maxima it keeps the larger one.
void add(PhaseTimes &sum, const PhaseTimes &more);
/// The sums without the maxima.
[[nodiscard]] PhaseSeconds secondsOf(const PhaseTimes &phases);
/// The mean over ranks; of a phase that some did not measure, it is 0 there.
[[nodiscard]] PhaseSeconds meanPhases(const std::vector<PhaseSeconds> &ranks);
/// Sum of the phases that add up to an epoch, in seconds.
[[nodiscard]] double additiveSum(const PhaseTimes &phases);
[[nodiscard]] double additiveSum(const PhaseSeconds &phases);
/// The share (0..1) of one phase in that sum. Absent if the phase was not measured or the sum is 0.
[[nodiscard]] std::optional<double> additiveShare(const PhaseSeconds &phases, std::string_view phase);

} // namespace lockstep
