// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {

/// Whether the files the run will write can be written, before anything starts. Makes the checkpoint folder.
[[nodiscard]] Result<void> checkOutputs(const RunConfig &config);

} // namespace lockstep::trainer
