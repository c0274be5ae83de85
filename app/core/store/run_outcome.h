// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/phase_sums.h"
#include "store/run_data.h"

namespace lockstep::core {
class RunStore;

/// The run's outcome so far.
[[nodiscard]] RunOutcome outcomeOf(const RunStore &run);
/// The part of its training time in which the run itself trained: without the epochs before the checkpoint from which it
/// went on. Seconds; absent where the training time is.
[[nodiscard]] std::optional<double> trainedHereS(const RunOutcome &run);
/// The rank that spent most time in its phases; absent where no rank has reported any.
[[nodiscard]] std::optional<int> slowestRank(const RunOutcome &run);
/// The mean phases of a pipeline's stages: each computes something else, so none speaks for all. Absent for other methods, and
/// until all stages have reported.
[[nodiscard]] std::optional<PhaseSeconds> meanOfStages(const RunOutcome &run);

} // namespace lockstep::core
