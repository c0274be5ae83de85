// SPDX-License-Identifier: MIT
#include "trainer/agent/log/watching_meter.h"

#include <algorithm>

#include "trainer/agent/devices/proc_files.h"

namespace lockstep::agent {

void WatchingMeter::take(const DeviceFrame &sample, const std::vector<pid_t> &queueOwners) {
    if (!m_total)
        m_total.emplace();
    bool watched = false;
    for (const ProcessSample &viewer : sample.viewers)
        // Absent in a viewer's first sample: what it used before it connected does not belong to the run.
        if (viewer.cpuCores) {
            addTo(m_total->viewersCpuS, *viewer.cpuCores * sample.intervalS);
            watched = true;
        }
    if (watched)
        m_total->watchedS += sample.intervalS;
    if (sample.agent && sample.agent->cpuCores)
        addTo(m_total->agentCpuS, *sample.agent->cpuCores * sample.intervalS);
    m_sinceReadingS += sample.intervalS;
    if (m_sinceReadingS < meterEveryS)
        return;
    m_sinceReadingS = 0;
    addOwners(queueOwners);
    addWaiting(sample.processes);
}

void WatchingMeter::addOwners(const std::vector<pid_t> &owners) {
    std::map<pid_t, double> now;
    for (const pid_t owner : owners)
        if (const auto used = processCpuSeconds(owner)) {
            if (const auto before = m_ownersCpuS.find(owner); before != m_ownersCpuS.end())
                addTo(m_total->queueCpuS, std::max(0.0, *used - before->second));
            now.emplace(owner, *used);
        }
    m_ownersCpuS = std::move(now);
}

void WatchingMeter::addWaiting(const std::vector<ProcessSample> &ranks) {
    std::map<std::pair<pid_t, pid_t>, double> now;
    for (const ProcessSample &rank : ranks)
        for (const auto &[thread, waitedS] : threadsWaitedSeconds(static_cast<pid_t>(rank.pid))) {
            const auto before = m_waitedS.find({rank.pid, thread});
            const double since = before == m_waitedS.end() ? 0 : before->second; // new: it began in this run
            addTo(m_total->ranksWaitedS, std::max(0.0, waitedS - since));
            now.emplace(std::pair(rank.pid, thread), waitedS);
        }
    m_waitedS = std::move(now);
}

} // namespace lockstep::agent
