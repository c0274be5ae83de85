// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/device_sampler.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace lockstep::agent {

namespace {
constexpr std::chrono::milliseconds gpuInterval{200};

std::vector<std::string> gpuUuids(const std::vector<DevicePlan> &devices) {
    std::vector<std::string> uuids;
    for (const DevicePlan &device : devices)
        if (device.kind == "cuda")
            uuids.push_back(device.name);
    return uuids;
}
} // namespace

Sampler::Sampler(const Clock &clock, std::vector<DevicePlan> devices, std::unique_ptr<Nvml> nvml)
    : m_clock(clock), m_devices(std::move(devices)), m_coreTimes(parseProcStat(readSmallFile("/proc/stat"))),
      m_lastNs(clock.monoNs()), m_history(m_devices.size()) {
    for (const auto &[core, times] : m_coreTimes)
        m_allCores.push_back(core);
    const auto uuids = gpuUuids(m_devices);
    if (nvml && !uuids.empty())
        m_gpus = std::make_unique<GpuWatch>(std::move(nvml), uuids, gpuInterval);
}

ProcessSample Sampler::sampleProcess(const Watched &process, std::map<pid_t, double> &cpuSeconds,
                                     double seconds) const {
    ProcessSample sample;
    sample.rank = process.rank;
    sample.pid = process.pid;
    sample.rssBytes = processRssBytes(process.pid);
    if (const auto used = processCpuSeconds(process.pid)) {
        cpuSeconds[process.pid] = *used;
        const auto before = m_cpuSeconds.find(process.pid);
        if (before != m_cpuSeconds.end() && seconds > 0)
            sample.cpuCores = std::max(0.0, *used - before->second) / seconds;
    }
    return sample;
}

DeviceSample Sampler::sampleCpu(const DevicePlan &plan, const CoreTimesByCore &times,
                                const std::vector<ProcessSample> &ranks) const {
    DeviceSample sample;
    sample.device = plan.name;
    sample.kind = "cpu";
    sample.name = plan.model;
    sample.cores = formatCores(plan.cores);
    sample.utilization = busyShare(m_coreTimes, times, plan.cores);
    // Only a rank that has the device for itself: the device's part of a shared process's memory is unknown.
    for (const ProcessSample &rank : ranks)
        if (plan.rank && rank.rank == plan.rank)
            sample.memoryUsedBytes = rank.rssBytes;
    return sample;
}

void Sampler::addGpus(std::vector<DeviceSample> &samples) {
    if (!m_gpus)
        return;
    for (GpuWatch::Sample &sample : m_gpus->latest()) {
        std::int64_t &seen = m_gpuSampleNs[sample.device.device];
        if (sample.monoNs <= seen)
            continue; // NVML is late: no new sample
        seen = sample.monoNs;
        if (sample.lost)
            m_lost.emplace(sample.device.device, false);
        samples.push_back(std::move(sample.device));
    }
}

std::vector<DevicePlan> Sampler::takeLost() {
    std::vector<DevicePlan> lost;
    for (const DevicePlan &device : m_devices)
        if (const auto found = m_lost.find(device.name); found != m_lost.end() && !std::exchange(found->second, true))
            lost.push_back(device);
    return lost;
}

void Sampler::leaveOut(std::int64_t ns, const CoreTimesByCore &before, const CoreTimesByCore &after) {
    m_leftOutNs += ns;
    agent::leaveOut(m_coreTimes, before, after);
}

Frame Sampler::sample(const std::vector<Watched> &ranks, const std::vector<Watched> &viewers) {
    const std::int64_t now = m_clock.monoNs();
    const double seconds = static_cast<double>(now - m_lastNs - std::exchange(m_leftOutNs, 0)) * 1e-9;
    CoreTimesByCore times = parseProcStat(readSmallFile("/proc/stat"));
    std::map<pid_t, double> cpuSeconds;
    DeviceFrame body;
    body.intervalS = seconds;
    for (const Watched &rank : ranks)
        body.processes.push_back(sampleProcess(rank, cpuSeconds, seconds));
    for (const Watched &viewer : viewers)
        body.viewers.push_back(sampleProcess(viewer, cpuSeconds, seconds));
    body.agent = sampleProcess({std::nullopt, ::getpid()}, cpuSeconds, seconds);
    for (const DevicePlan &plan : m_devices)
        if (plan.kind == "cpu")
            body.devices.push_back(sampleCpu(plan, times, body.processes));
    addGpus(body.devices);

    for (std::size_t i = 0; i < m_devices.size(); ++i)
        for (const DeviceSample &sample : body.devices)
            if (sample.device == m_devices[i].name)
                m_history[i].add(m_lastNs, now, sample.utilization, sample.memoryUsedBytes);

    Frame frame;
    if (const auto busy = busyShare(m_coreTimes, times, m_allCores)) {
        char text[32];
        std::snprintf(text, sizeof text, "%.4f", *busy);
        frame.extra.emplace_back("host_cpu", text);
    }
    frame.body = std::move(body);
    m_coreTimes = std::move(times);
    m_cpuSeconds = std::move(cpuSeconds);
    m_lastNs = now;
    return frame;
}

std::vector<DeviceEpochUse> Sampler::over(std::int64_t fromNs, std::int64_t toNs) const {
    std::vector<DeviceEpochUse> uses;
    for (std::size_t i = 0; i < m_devices.size(); ++i)
        uses.push_back(m_history[i].over(m_devices[i].name, fromNs, toNs));
    return uses;
}

} // namespace lockstep::agent
