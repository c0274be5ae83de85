// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/surroundings_meter.h"

#include <unistd.h>

#include <algorithm>

namespace lockstep::agent {

namespace {
double tickSeconds() {
    return 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}
} // namespace

void SurroundingsMeter::take(const DeviceFrame &sample, const std::vector<pid_t> &queueOwners) {
    addGpus(sample);
    m_sinceReadingS += sample.intervalS;
    if (m_before && m_sinceReadingS < meterEveryS)
        return;
    Reading now = reading(sample, queueOwners);
    if (m_before) {
        m_measuredS += m_sinceReadingS;
        addSince(*m_before, now);
    }
    m_sinceReadingS = 0;
    m_before = std::move(now);
}

void SurroundingsMeter::leaveOut(const CoreTimesByCore &before, const CoreTimesByCore &after) {
    if (m_before)
        agent::leaveOut(m_before->cores, before, after);
}

SurroundingsMeter::Reading SurroundingsMeter::reading(const DeviceFrame &sample,
                                                      const std::vector<pid_t> &queueOwners) {
    Reading now;
    now.cores = parseProcStat(readSmallFile("/proc/stat"));
    now.tree = {cpuOf(m_earlier.laterTree()), cpuOf(m_earlier.noted())}; // the ranks are its children
    std::vector<pid_t> guests = queueOwners;
    for (const ProcessSample &viewer : sample.viewers)
        guests.push_back(static_cast<pid_t>(viewer.pid));
    for (const pid_t pid : guests)
        if (const auto used = processCpuSeconds(pid))
            now.guestsCpuS.emplace(pid, *used);
    now.quotaWaitedS = quotaWaitedSeconds();
    now.heatThrottles = heatThrottles(m_cores);
    return now;
}

void SurroundingsMeter::addSince(const Reading &before, const Reading &now) {
    double busyS = 0, stolenS = 0;
    double oursS = m_treeCpu.usedBetween(before.tree, now.tree);
    bool known = true;
    for (const int core : m_cores) {
        const auto a = before.cores.find(core), b = now.cores.find(core);
        known = known && a != before.cores.end() && b != now.cores.end();
        if (!known)
            break;
        // Some kernels decrease these counters by a tick.
        busyS += (static_cast<double>(b->second.busy) - static_cast<double>(a->second.busy)) * tickSeconds();
        stolenS += (static_cast<double>(b->second.stolen) - static_cast<double>(a->second.stolen)) * tickSeconds();
    }
    if (known) {
        for (const auto &[pid, used] : now.guestsCpuS)
            if (const auto then = before.guestsCpuS.find(pid); then != before.guestsCpuS.end())
                oursS += used - then->second;
        addTo(m_otherCpuS, busyS - oursS);
        addTo(m_stolenS, std::max(0.0, stolenS));
    }
    if (before.quotaWaitedS && now.quotaWaitedS) {
        addTo(m_quotaS, std::max(0.0, *now.quotaWaitedS - *before.quotaWaitedS));
        if (*now.quotaWaitedS > *before.quotaWaitedS)
            addReason("CPU quota");
    }
    if (before.heatThrottles && now.heatThrottles && *now.heatThrottles > *before.heatThrottles)
        addReason("processor too hot");
}

void SurroundingsMeter::addGpus(const DeviceFrame &sample) {
    for (const DeviceSample &device : sample.devices) {
        if (device.kind != "cuda")
            continue;
        m_gpuThrottledS[device.device] += device.throttle.empty() ? 0 : sample.intervalS;
        for (const std::string &reason : device.throttle)
            addReason(reason);
    }
}

void SurroundingsMeter::addReason(const std::string &reason) {
    if (std::find(m_reasons.begin(), m_reasons.end(), reason) == m_reasons.end())
        m_reasons.push_back(reason);
}

std::optional<Surroundings> SurroundingsMeter::total() const {
    if (m_measuredS <= 0)
        return std::nullopt;
    Surroundings out;
    out.measuredS = m_measuredS;
    if (m_otherCpuS)
        out.otherCpuS = std::max(0.0, *m_otherCpuS);
    out.stolenS = m_stolenS;
    out.throttledS = m_quotaS;
    for (const auto &[gpu, throttledS] : m_gpuThrottledS)
        out.throttledS = std::max(out.throttledS.value_or(0), throttledS);
    out.throttle = m_reasons;
    return out;
}

} // namespace lockstep::agent
