// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lockstep::agent {

struct CpuUse {
    double ownS = 0;    ///< CPU seconds of a process so far
    double waitedS = 0; ///< of its children that have ended and that it has waited for, and of theirs
};
/// By pid and by the clock ticks from the machine's boot until it began: a pid may be used again.
using CpuByProcess = std::map<std::pair<pid_t, std::uint64_t>, CpuUse>;
/// Parents must stand before their children, as in treeOf(): what ends meanwhile is then in neither, and never in both.
[[nodiscard]] CpuByProcess cpuOf(const std::vector<pid_t> &processes);

/// CPU seconds of a run's processes between two readings. A process that ends hands what it used to the one that waits
/// for it, so those count, too, that begin and end between two readings.
class TreeCpu {
public:
    struct Reading {
        CpuByProcess run;     ///< all of the run's processes, the agent first
        CpuByProcess earlier; ///< the agent's children that are none of the run's: it may wait for them, too
    };
    /// `now` is the next reading after `before`.
    [[nodiscard]] double usedBetween(const Reading &before, const Reading &now);

private:
    double m_owedS = 0; ///< of processes that ended, and that nobody had waited for by the last reading
};

} // namespace lockstep::agent
