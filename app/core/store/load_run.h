// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "ipc/error.h"
#include "ipc/frames.h"
#include "ipc/run_folder.h"

namespace lockstep::core {
class RunStore;

/// Reads a run's folder (record, log, result) at once, for tables and exports; calls `onFrame` after each frame.
[[nodiscard]] Result<void> loadRun(RunStore &store, const RunFolder &folder,
                                   const std::function<void(const Frame &)> &onFrame = {});

} // namespace lockstep::core
