// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/phase_sums.h"
#include "store/run_data.h"

namespace lockstep::core {
class RunStore;

/// The run's outcome so far.
[[nodiscard]] RunOutcome outcomeOf(const RunStore &run);
/// The mean phases of a pipeline's stages: each computes something else, so none speaks for all. Absent for other methods, and
/// until all stages have reported.
[[nodiscard]] std::optional<PhaseSeconds> meanOfStages(const RunOutcome &run);

} // namespace lockstep::core
