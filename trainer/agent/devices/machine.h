// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ipc/run_config.h"
#include "ipc/run_folder.h"
#include "trainer/agent/devices/nvml.h"

namespace lockstep::agent {

[[nodiscard]] std::string hostName();

/// What this process may use here, for validation.
[[nodiscard]] MachineFacts machineFacts(const Nvml *nvml);

/// The record of this machine. CPU devices are listed as blocks of `coresPerDevice` of the allowed cores. Data sets'
/// checksums and torch's version are the trainer's to know and stay empty; of several nodes the session asks for the latter.
[[nodiscard]] MachineRecord takeMachineRecord(int node, int coresPerDevice, const Nvml *nvml);

/// Name and numeric address of every interface that is up; IPv4 before IPv6.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> networkInterfaces();

} // namespace lockstep::agent
