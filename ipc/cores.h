// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep {

/// Sorted, distinct CPU numbers.
using CoreList = std::vector<int>;

/// "0-3,8" to {0,1,2,3,8}.
[[nodiscard]] Result<CoreList> parseCores(std::string_view text);
/// {0,1,2,3,8} to "0-3,8".
[[nodiscard]] std::string formatCores(const CoreList &cores);

/// The cores a process may run on, this one or another by its pid (sched_getaffinity, so cgroups and taskset are honoured). Empty:
/// there is no such process.
[[nodiscard]] CoreList allowedCores(int pid = 0);

/// The cores of CPU device `cpu:K`: the K-th disjoint block of `coresPerDevice` of `allowed`.
/// Error names how many devices there are: "cpu:7 needs core 8 of 2 allowed".
[[nodiscard]] Result<CoreList> coresOfCpuDevice(int k, int coresPerDevice, const CoreList &allowed);

/// How many disjoint CPU devices of that size there are.
[[nodiscard]] int cpuDeviceCount(int coresPerDevice, const CoreList &allowed);

} // namespace lockstep
