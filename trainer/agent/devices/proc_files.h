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

/// The whole content of a small file; empty if it cannot be read.
[[nodiscard]] std::string readSmallFile(const std::string &path);

/// Clock ticks of one core since boot. `total` includes stolen time, `busy` does not.
struct CoreTimes {
    std::uint64_t busy = 0, total = 0, stolen = 0;
};
using CoreTimesByCore = std::map<int, CoreTimes>;
/// Adds to `times` what has passed between two readings: from then on that is left out.
void leaveOut(CoreTimesByCore &times, const CoreTimesByCore &before, const CoreTimesByCore &after);
/// From the text of /proc/stat.
[[nodiscard]] CoreTimesByCore parseProcStat(std::string_view text);
/// Busy share (0..1) of these cores between two readings; absent when no tick passed or a core is missing.
[[nodiscard]] std::optional<double> busyShare(const CoreTimesByCore &before, const CoreTimesByCore &after,
                                              const CoreList &cores);

/// CPU seconds of all threads of a process so far. Read from the process's CPU clock, which counts nanoseconds.
[[nodiscard]] std::optional<double> processCpuSeconds(pid_t pid);
/// For each thread of the process: seconds since it began in which it was runnable and waited for a core. Empty when
/// the process has ended or the kernel does not report it.
[[nodiscard]] std::map<pid_t, double> threadsWaitedSeconds(pid_t pid);
[[nodiscard]] std::optional<double> processRssBytes(pid_t pid);
[[nodiscard]] std::vector<pid_t> childrenOf(pid_t pid); ///< those that its main thread started
/// Whether any thread of these processes runs or waits for a core only.
[[nodiscard]] bool anyComputes(const std::vector<pid_t> &processes);
/// The process and all its descendants.
[[nodiscard]] std::vector<pid_t> treeOf(pid_t pid);

/// `throttled_usec` (in version 1 `throttled_time`, ns) of a cgroup's cpu.stat, in seconds.
[[nodiscard]] std::optional<double> parseQuotaWaited(std::string_view cpuStat);
/// The same for this process's own cgroup; absent where no cgroup is mounted or it has no quota.
[[nodiscard]] std::optional<double> quotaWaitedSeconds();
/// How often these cores were throttled for heat since boot; absent where the kernel does not count it.
[[nodiscard]] std::optional<std::uint64_t> heatThrottles(const CoreList &cores);

/// How often, in seconds of a run, the meters read the kernel's files.
inline constexpr double meterEveryS = 1;
/// Adds to a sum that may still be unknown.
inline void addTo(std::optional<double> &sum, double more) {
    sum = sum.value_or(0) + more;
}

} // namespace lockstep::agent
