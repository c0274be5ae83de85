// SPDX-License-Identifier: MIT
#pragma once
#include <QString>

#include "store/run_data.h"

namespace lockstep::core {
class RunStore;

/// How far a run is and how much of it is left.
[[nodiscard]] Progress progressOf(const RunStore &run);
/// "4/10"; "4" of a run that doesn't say how many there will be; empty before one has begun.
[[nodiscard]] QString epochText(const Progress &progress);
/// What the run does, as RunLifecycle::sentence() has it; "running, no step yet" while its ranks have made none: a script's are called
/// training while it still imports its libraries.
[[nodiscard]] QString activityOf(const RunStore &run, const Progress &progress);

} // namespace lockstep::core
