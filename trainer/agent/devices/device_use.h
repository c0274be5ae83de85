// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ipc/run_folder.h"
#include "trainer/agent/devices/nvml.h"

namespace lockstep::agent {

/// A program that uses a device now.
struct DeviceUser {
    int pid = 0;
    std::string name;                  ///< as /proc/PID/comm has it; empty when it is gone or of another machine
    std::optional<double> share;       ///< of the device's cores, 0..1 (CPU devices)
    std::optional<double> memoryBytes; ///< on the device (GPUs)
};

/// How a device stands now, before a run is put on it.
struct DeviceUse {
    DeviceRecord record;
    std::optional<double> busy; ///< CPU: busy share of its cores; GPU: share of time in which a kernel ran. 0..1
    std::optional<double> memoryUsedBytes; ///< GPUs
    std::vector<DeviceUser> users;         ///< those with the largest share first
};

/// Looks for about a third of a second at this machine's devices, its GPUs through `nvml` (may be null). Blocks so long.
/// A CPU device's users are the processes that took at least 2 % of its cores; a process that moved among cores counts
/// where it last ran. This process and its parent, which ask, are left out of both.
[[nodiscard]] std::vector<DeviceUse> lookAtDevices(int coresPerDevice, Nvml *nvml);

} // namespace lockstep::agent
