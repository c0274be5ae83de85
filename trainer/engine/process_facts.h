// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "ipc/host_name.h"

namespace lockstep::trainer {

/// Facts about this process, from Linux.
[[nodiscard]] std::optional<double> secondsSinceLaunch(); ///< since the kernel started it
[[nodiscard]] std::optional<double> peakRssBytes();

/// Asks for SCHED_BATCH, which needs no privilege: a thread that wakes then takes the core from no other one. Threads started later
/// inherit it.
void useBatchScheduling();
/// Makes glibc keep freed memory for the next step: by default it returns blocks as large as activations to the kernel and
/// faults them in again every step. Call it after the data were read.
void keepFreedMemory();
/// The policy in force: "batch", "other", "fifo", "rr", "idle".
[[nodiscard]] std::string schedulingPolicy();

} // namespace lockstep::trainer
