// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {

/// Checks before the start that the run's output files can be written. Makes the checkpoint folder.
[[nodiscard]] Result<void> checkOutputs(const RunConfig &config);

} // namespace lockstep::trainer
