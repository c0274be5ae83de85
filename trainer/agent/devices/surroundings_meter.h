// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/cores.h"
#include "ipc/frames.h"
#include "ipc/run_folder.h"
#include "trainer/agent/devices/earlier_processes.h"
#include "trainer/agent/devices/proc_files.h"
#include "trainer/agent/devices/tree_cpu.h"

namespace lockstep::agent {

/// Adds up over a run how much of its cores other programs used and how long clocks were throttled. Called five times a
/// second; it reads the kernel's files once a second.
class SurroundingsMeter {
public:
    /// `cores`: those the run may use; `earlier`: children of this process that are none of the run's.
    SurroundingsMeter(CoreList cores, EarlierProcesses &earlier) : m_cores(std::move(cores)), m_earlier(earlier) {}
    /// `sample` as it goes into the log; `queueOwners` are the processes that own the run's queue.
    void take(const DeviceFrame &sample, const std::vector<pid_t> &queueOwners);
    /// What the cores did while the run was paused is nobody's load on it. Call it between take()s.
    void leaveOut(const CoreTimesByCore &before, const CoreTimesByCore &after);
    /// Absent until the kernel's files were read twice.
    [[nodiscard]] std::optional<Surroundings> total() const;

private:
    struct Reading { ///< what was read at one moment
        CoreTimesByCore cores;
        TreeCpu::Reading tree;              ///< of the agent, its ranks, what they started
        std::map<pid_t, double> guestsCpuS; ///< CPU s of viewers and the queue's owner, which may be older than the run
        std::optional<double> quotaWaitedS;
        std::optional<std::uint64_t> heatThrottles;
    };
    [[nodiscard]] Reading reading(const DeviceFrame &sample, const std::vector<pid_t> &queueOwners);
    void addSince(const Reading &before, const Reading &now);
    void addGpus(const DeviceFrame &sample);
    void addReason(const std::string &reason);

    CoreList m_cores;
    EarlierProcesses &m_earlier;
    std::optional<Reading> m_before;
    TreeCpu m_treeCpu;
    double m_sinceReadingS = 0, m_measuredS = 0;
    std::optional<double> m_otherCpuS; ///< may be slightly negative: ticks and CPU clocks differ a little
    std::optional<double> m_stolenS, m_quotaS;
    std::map<std::string, double> m_gpuThrottledS;
    std::vector<std::string> m_reasons;
};

} // namespace lockstep::agent
