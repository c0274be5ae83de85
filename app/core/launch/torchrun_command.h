// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "experiment/plan.h"

namespace lockstep::core {

/// The equivalent torchrun (or shell) command: "torchrun --no-python --nproc-per-node 2 lockstep-trainer …".
[[nodiscard]] std::string torchrunCommand(const RunConfig &config);
/// The same for a planned run, which may run a script: "torchrun --nproc-per-node 2 /…/train.py" or "python3 …".
[[nodiscard]] std::string torchrunCommand(const PlannedRun &run);

} // namespace lockstep::core
