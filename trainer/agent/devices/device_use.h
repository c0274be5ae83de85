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
    std::string name;                  ///< of its program; empty if the process has ended or belongs to another machine
    std::optional<double> share;       ///< 0..1, of the time of the device's cores (CPU devices)
    std::optional<double> memoryBytes; ///< on the device (GPUs)
};

/// How much a device is used now, before a run starts on it.
struct DeviceUse {
    DeviceRecord record;
    std::optional<double> busy; ///< 0..1. CPU: busy share of its cores. GPU: share of time in which a kernel ran
    std::optional<double> memoryUsedBytes; ///< GPUs
    std::vector<DeviceUser> users;         ///< the largest share first
};

/// Measures the devices of this machine for about a third of a second, and blocks for so long. `nvml` gives the GPUs;
/// it may be null. A CPU device's users are the processes that took at least 2 % of its cores. A process that moved
/// between cores counts where it last ran. This process and its parent are left out of both figures.
[[nodiscard]] std::vector<DeviceUse> sampleDevices(int coresPerDevice, Nvml *nvml);

} // namespace lockstep::agent
