// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ipc/host_name.h"
#include "ipc/run_config.h"
#include "ipc/run_folder.h"
#include "trainer/agent/devices/nvml.h"

namespace lockstep::agent {

/// The devices that this process may use, for checking a configuration.
[[nodiscard]] MachineFacts machineFacts(const Nvml *nvml);

/// The record of this machine. CPU devices are blocks of `coresPerDevice` of the allowed cores. The checksums of data
/// sets and the version of torch stay empty, since only the trainer knows them. With several nodes the session asks the
/// trainer for the version.
[[nodiscard]] MachineRecord takeMachineRecord(int node, int coresPerDevice, const Nvml *nvml);

/// Name and numeric address of every interface that is up, IPv4 before IPv6.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> networkInterfaces();

} // namespace lockstep::agent
