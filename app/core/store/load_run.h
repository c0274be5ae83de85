// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "ipc/error.h"
#include "ipc/frames.h"
#include "ipc/run_folder.h"

namespace lockstep::core {
class RunStore;
class StatusReader;

/// Reads a run's folder (record, log, result) at once, for tables and exports; calls `onFrame` after each frame.
[[nodiscard]] Result<void> loadRun(RunStore &store, const RunFolder &folder,
                                   const std::function<void(const Frame &)> &onFrame = {});
/// The same for one of many runs: `statuses` is kept over all of them, so that their experiment is read once.
[[nodiscard]] Result<void> loadRun(RunStore &store, const RunFolder &folder, StatusReader &statuses,
                                   const std::function<void(const Frame &)> &onFrame = {});

} // namespace lockstep::core
