// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/tree_cpu.h"

#include <unistd.h>

#include <algorithm>

#include "ipc/process_stat.h"
#include "trainer/agent/devices/proc_files.h"

namespace lockstep::agent {

namespace {

/// As a process was before; one that is new began with nothing.
CpuUse useBefore(const CpuByProcess &before, const CpuByProcess::key_type &process) {
    const auto found = before.find(process);
    return found == before.end() ? CpuUse() : found->second;
}

/// What those that have ended used since they were last read, as far as one of the others has waited for them. Negative:
/// nobody here has waited for some of them.
double usedByEnded(const CpuByProcess &before, const CpuByProcess &now) {
    double sumS = 0;
    for (const auto &[process, use] : now)
        sumS += use.waitedS - useBefore(before, process).waitedS;
    for (const auto &[process, use] : before)
        if (!now.contains(process))
            sumS -= use.ownS + use.waitedS; // counted already
    return sumS;
}

} // namespace

CpuByProcess cpuOf(const std::vector<pid_t> &processes) {
    const double tickS = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    CpuByProcess out;
    for (const pid_t pid : processes)
        if (const auto stat = processStatOf(pid)) {
            const double ownS = processCpuSeconds(pid).value_or(static_cast<double>(stat->cpuTicks) * tickS);
            out.emplace(std::pair(pid, stat->startTicks), CpuUse{ownS, static_cast<double>(stat->waitedTicks) * tickS});
        }
    return out;
}

double TreeCpu::usedBetween(const Reading &before, const Reading &now) {
    double usedS = 0;
    for (const auto &[process, use] : now.run)
        usedS += use.ownS - useBefore(before.run, process).ownS;
    const double endedS = usedByEnded(before.run, now.run) +
                          std::min(0.0, usedByEnded(before.earlier, now.earlier)); // the agent has waited for these
    usedS += std::max(0.0, endedS + m_owedS);
    // Its parent may have waited for it just after the parent was read. After one more reading nobody will: a process
    // that ignores SIGCHLD is notified of none.
    m_owedS = std::min(0.0, endedS);
    return usedS;
}

} // namespace lockstep::agent
