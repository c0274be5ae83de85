// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// What the kernel says of a process or a thread in its file `stat` (proc(5)).
struct ProcessStat {
    char state = '\0'; ///< R, S, D, T, Z …
    pid_t parent = 0;
    std::uint64_t cpuTicks = 0; ///< of sysconf(_SC_CLK_TCK): in user mode and in the kernel, of all its threads
    std::uint64_t waitedTicks =
        0; ///< the same of its children that have ended and that it has waited for, and of theirs
    std::uint64_t startTicks = 0; ///< from the machine's boot until it began
    int core = -1;                ///< where it ran last
};

/// From the text of such a file. Absent: it is none.
[[nodiscard]] std::optional<ProcessStat> processStatIn(std::string_view text);
/// Of a folder in /proc: "/proc/self", "/proc/7", "/proc/7/task/8". Absent: the process has ended.
[[nodiscard]] std::optional<ProcessStat> processStatOf(const std::string &folder);
[[nodiscard]] std::optional<ProcessStat> processStatOf(pid_t pid);

/// Of the machine since its last boot, the same in all its containers and namespaces; empty: unknown.
[[nodiscard]] std::string bootId();

} // namespace lockstep
