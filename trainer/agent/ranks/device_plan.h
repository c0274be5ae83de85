// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ipc/cores.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

// Which devices a launch plan samples, and which of them and which cores each rank has.

/// The config's devices by their names; `firstRank`: the first rank of this node.
[[nodiscard]] std::vector<DevicePlan> devicesOf(const RunConfig &config, const std::vector<std::string> &names,
                                                const MachineRecord &machine, int firstRank = 0);
/// Of a command without a config: a CPU device a rank where ranks are pinned, else all GPUs, else all allowed cores as one.
[[nodiscard]] std::vector<DevicePlan> devicesOfCommand(const CommandOptions &options, const MachineRecord &machine,
                                                       const Nvml *nvml);
/// The devices of a rank by name, "0,1"; of one process all of them.
[[nodiscard]] std::string devicesOfRank(const std::vector<DevicePlan> &devices, int rank);
/// Cores of a process: its devices' and its workers'. Empty for GPUs: the kernel may place it.
[[nodiscard]] CoreList affinityOf(const RunConfig &config, const std::vector<DevicePlan> &devices, int rank);
/// Allowed cores that no rank is bound to; unknown when a rank has no CPU device of its own and may run anywhere.
[[nodiscard]] std::optional<int> freeCoresOf(const LaunchPlan &plan);

} // namespace lockstep::agent
