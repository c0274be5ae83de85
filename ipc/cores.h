// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep {

/// CPU numbers, sorted and distinct.
using CoreList = std::vector<int>;

/// "0-3,8" to {0,1,2,3,8}. A list that names more cores than a machine can have, repeats included, is an error as any other bad one.
[[nodiscard]] Result<CoreList> parseCores(std::string_view text);
/// How many parseCores() would find, without a list of them.
[[nodiscard]] Result<int> coreCount(std::string_view text);
/// {0,1,2,3,8} to "0-3,8".
[[nodiscard]] std::string formatCores(const CoreList &cores);

/// The cores that a process may run on: this process, or another one by its pid. Uses sched_getaffinity, so cgroups and
/// taskset are respected. Empty if there is no such process.
[[nodiscard]] CoreList allowedCores(int pid = 0);

/// Confines the calling thread, and threads that it starts from now on, to these cores; empty: changes nothing. The error names the
/// cores that are not allowed.
[[nodiscard]] Result<void> pinThread(const CoreList &cores);

/// The cores of the CPU device `cpu:K`: the K-th disjoint block of `coresPerDevice` cores of `allowed`. The error says
/// how many cores there are: "cpu:7 needs core 8 of 2 allowed".
[[nodiscard]] Result<CoreList> coresOfCpuDevice(int k, int coresPerDevice, const CoreList &allowed);

/// The number of disjoint CPU devices of that size.
[[nodiscard]] int cpuDeviceCount(int coresPerDevice, const CoreList &allowed);

} // namespace lockstep
