// SPDX-License-Identifier: MIT
#pragma once
#include "base/command_prefix.h"
#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::core {

/// The devices this process may use: allowed cores, and GPU UUIDs from NVML, loaded at run time (none without a
/// driver). CUDA_VISIBLE_DEVICES is honoured. The first call asks NVML, which may take seconds; the GPUs it finds are kept
/// for the process.
[[nodiscard]] MachineFacts localMachineFacts();

/// The same for the machine behind `prefix`, by one short command. Blocks up to 15 s: not for the GUI thread.
/// An empty prefix is this machine.
[[nodiscard]] Result<MachineFacts> machineFacts(const CommandPrefix &prefix);

/// Number of devices of kind `device` (cpu | cuda), with C cores per device.
[[nodiscard]] int deviceLimit(const MachineFacts &facts, std::string_view device, int coresPerDevice);

} // namespace lockstep::core
