// SPDX-License-Identifier: MIT
#pragma once
#include "store/run_data.h"

namespace lockstep::core {
class RunStore;

/// The run's outcome so far.
[[nodiscard]] RunOutcome outcomeOf(const RunStore &run);

} // namespace lockstep::core
