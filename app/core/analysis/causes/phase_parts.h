// SPDX-License-Identifier: MIT
#pragma once
// Where a run's time went, in the few parts that causes are named by. Seconds.
#include <optional>
#include <string>

#include "analysis/compare/cell.h"

namespace lockstep::core {

/// Parts of a run's time. Of several ranks the one in the middle by its waiting speaks (of two, the one that waits more):
/// ranks of a synchronous step all take the same time, and one slow rank then shows as the others' waiting and not as
/// everybody's slower computing. Absent: not told by frames.
struct TimeParts {
    double runS = 0;             ///< launch to exit
    double trainingS = 0;        ///< sum of epoch durations
    double startUpS = 0;         ///< runS less trainingS
    std::optional<double> loadS; ///< load + h2d
    /// forward + backward + optimizer, less scatter, replicate and gather. Data parallel's loss on device 0 is computing; its
    /// parallel parts last until the slowest device is done, so waiting of its devices for each other is in here.
    std::optional<double> computeS;
    /// exposed less wait. Data parallel: scatter + replicate + gather + reduce: copies between devices, which one
    /// device does not have. Where `wait` is unknown (GPUs, some scripts) waiting is in here.
    std::optional<double> communicationS;
    std::optional<double> waitS; ///< 0 for one process
    double restS = 0;            ///< training time that is in none of the known parts
};

/// Absent without both times or without any phase.
[[nodiscard]] std::optional<TimeParts> partsOf(const RunOutcome &run);
/// Each part's median over the repeats that tell of their phases; a part that one of them lacks is absent. Medians need not
/// add up to the median of the whole: what lacks or is too much is put on the parts in proportion to their variance over the
/// repeats, which is the least-squares way to make measured parts add up (Deming, Statistical Adjustment of Data, 1943), so
/// that a start-up that scatters is not taken for time that nobody reports.
[[nodiscard]] std::optional<TimeParts> partsOf(const Cell &cell);

/// Load and computing of a rank by itself, seconds over the whole run; absent without phases.
[[nodiscard]] std::optional<double> ownTime(const RunOutcome &run, int rank);
/// Of a rank of a run; 0 when it is not told.
[[nodiscard]] double phaseOf(const RunOutcome &run, int rank, std::string_view phase);

} // namespace lockstep::core
