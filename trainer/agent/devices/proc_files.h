// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/cores.h"

namespace lockstep::agent {

/// What a whole small file says; empty when it can't be read.
[[nodiscard]] std::string readSmallFile(const std::string &path);

/// Clock ticks of one core since boot. Stolen time is not busy, but it did pass.
struct CoreTimes {
    std::uint64_t busy = 0, total = 0, stolen = 0;
};
using CoreTimesByCore = std::map<int, CoreTimes>;
/// From the text of /proc/stat.
[[nodiscard]] CoreTimesByCore parseProcStat(std::string_view text);
/// Busy share (0..1) of these cores between two readings; nothing when no tick passed or a core is missing.
[[nodiscard]] std::optional<double> busyShare(const CoreTimesByCore &before, const CoreTimesByCore &after,
                                              const CoreList &cores);

/// CPU seconds a process has used so far, all its threads; by its CPU clock, so exact to the nanosecond.
[[nodiscard]] std::optional<double> processCpuSeconds(pid_t pid);
/// By thread of the process: seconds in which it was runnable and waited for a core, since it began. Empty when the
/// process is gone or the kernel does not tell.
[[nodiscard]] std::map<pid_t, double> threadsWaitedSeconds(pid_t pid);
[[nodiscard]] std::optional<double> processRssBytes(pid_t pid);
[[nodiscard]] std::optional<pid_t> parentOf(pid_t pid);
[[nodiscard]] std::vector<pid_t> childrenOf(pid_t pid); ///< those that its main thread started
/// The process and all that descend from it.
[[nodiscard]] std::vector<pid_t> treeOf(pid_t pid);

/// `throttled_usec` (or version 1's `throttled_time`, in ns) of a control group's cpu.stat, in seconds.
[[nodiscard]] std::optional<double> parseQuotaWaited(std::string_view cpuStat);
/// The same for this process's own control group; absent where none is mounted or it has no quota.
[[nodiscard]] std::optional<double> quotaWaitedSeconds();
/// How often these cores were slowed for heat since boot; absent where the kernel does not count it.
[[nodiscard]] std::optional<std::uint64_t> heatThrottles(const CoreList &cores);

/// What a meter reads of the kernel's files, it reads once in this time of a run.
inline constexpr double meterEveryS = 1;
/// Adds to what may not be known yet.
inline void addTo(std::optional<double> &sum, double more) {
    sum = sum.value_or(0) + more;
}

} // namespace lockstep::agent
