// SPDX-License-Identifier: MIT
#pragma once
#include "store/run_data.h"

namespace lockstep::core {
class RunStore;

/// How far a run is and how much of it is left.
[[nodiscard]] Progress progressOf(const RunStore &run);

} // namespace lockstep::core
