// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ipc/cores.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

// Which devices a launch plan samples, and which devices and cores each rank gets.

/// The configuration's devices, with `names`. `firstRank` is the first rank of this node.
[[nodiscard]] std::vector<DevicePlan> devicesOf(const RunConfig &config, const std::vector<std::string> &names,
                                                const MachineRecord &machine, int firstRank = 0);
/// The devices of a command without a configuration: one CPU device per rank if ranks are pinned, else all GPUs, else
/// all allowed cores as one device.
[[nodiscard]] std::vector<DevicePlan> devicesOfCommand(const CommandOptions &options, const MachineRecord &machine,
                                                       const Nvml *nvml);
/// The names of a rank's devices, "0,1"; if there is one process, of all devices.
[[nodiscard]] std::string devicesOfRank(const std::vector<DevicePlan> &devices, int rank);
/// Cores of a process: those of its devices and of its loading workers. Empty for GPUs, where the kernel may place it.
[[nodiscard]] CoreList affinityOf(const RunConfig &config, const std::vector<DevicePlan> &devices, int rank);
/// Allowed cores that no rank is bound to; absent when a rank has no CPU device of its own and may run anywhere.
[[nodiscard]] std::optional<int> freeCoresOf(const LaunchPlan &plan);

} // namespace lockstep::agent
