#pragma once
#include "ipc/error.h"
#include "ipc/run_config.h"
#include "launch/command_prefix.h"

namespace lockstep::core {

/// What this machine may use: allowed cores, and the GPUs' UUIDs by NVML loaded at run time (none without a driver).
/// CUDA_VISIBLE_DEVICES is honoured.
[[nodiscard]] MachineFacts localMachineFacts();

/// What the machine behind `prefix` may use; asks it by one short command. Blocks up to 15 s: not for the GUI thread.
/// An empty prefix is this machine.
[[nodiscard]] Result<MachineFacts> machineFacts(const CommandPrefix &prefix);

/// How many devices of `device` (cpu | cuda) there are, for cores-per-device C.
[[nodiscard]] int deviceLimit(const MachineFacts &facts, std::string_view device, int coresPerDevice);

} // namespace lockstep::core
