// SPDX-License-Identifier: MIT
#include "trainer/agent/session/run_samples.h"

#include "trainer/agent/devices/sample_parts.h"

namespace lockstep::agent {

namespace {
/// Over a shorter time, the kernel's clock ticks are too coarse to measure load.
constexpr std::int64_t shortestSampleNs = 40'000'000;
} // namespace

RunSamples::RunSamples(const Clock &clock, RunJournal &journal, const RunSocket &socket,
                       std::vector<DevicePlan> devices, std::unique_ptr<Nvml> nvml, Ranks livingRanks,
                       EarlierProcesses &earlier)
    : m_clock(clock), m_journal(journal), m_socket(socket), m_sampler(clock, std::move(devices), std::move(nvml)),
      m_livingRanks(std::move(livingRanks)), m_earlier(earlier), m_meters(std::in_place, earlier) {}

void RunSamples::startOver() {
    if (m_sampler.sinceSampleNs() > shortestSampleNs)
        take();
    m_meters.emplace(m_earlier);
}

void RunSamples::pause() {
    m_pausedBefore = true;
    m_pause = Pause{m_clock.monoNs(), parseProcStat(readSmallFile("/proc/stat"))};
}

void RunSamples::goOn() {
    if (const auto pause = std::exchange(m_pause, std::nullopt)) {
        const CoreTimesByCore now = parseProcStat(readSmallFile("/proc/stat"));
        m_sampler.leaveOut(m_clock.monoNs() - pause->beganNs, pause->cores, now);
        m_meters->surroundings.leaveOut(pause->cores, now);
    }
}

void RunSamples::take() {
    if (m_pause) { // up to now
        goOn();
        pause();
    }
    if (m_pausedBefore && m_sampler.sinceSampleNs() < shortestSampleNs)
        return;
    std::vector<Sampler::Watched> viewers;
    for (const pid_t pid : m_socket.viewers())
        viewers.push_back({std::nullopt, pid});
    Frame sample = m_sampler.sample(m_livingRanks(), viewers);
    m_meters->watching.take(std::get<DeviceFrame>(sample.body), m_socket.queueOwners());
    m_meters->surroundings.take(std::get<DeviceFrame>(sample.body), m_socket.queueOwners());
    if (!m_pausedBefore && !m_finished)
        m_meters->energy.take(std::get<DeviceFrame>(sample.body));
    sample.monoNs = m_clock.monoNs();
    sample.wallUs = m_clock.wallUs();
    for (const Frame &part : partsOf(std::move(sample)))
        m_journal.appendLine(encode(part));
    for (const DevicePlan &gpu : m_sampler.takeLost())
        alertAndLog(m_journal, "gpu_lost",
                    "GPU " + gpu.name + (gpu.model.empty() ? "" : " (" + gpu.model + ")") +
                        (gpu.rank ? ", the device of rank " + std::to_string(*gpu.rank) + "," : "") +
                        " is lost: it has fallen off the bus, or the driver has given it up; `dmesg` names the reason "
                        "(Xid), and it comes back when the machine is restarted");
}

std::vector<DeviceEpochUse> RunSamples::deviceUse(std::int64_t fromNs, std::int64_t toNs) {
    if (m_sampler.sinceSampleNs() > shortestSampleNs)
        take(); // so that the samples cover the end of the epoch
    return m_sampler.over(fromNs, toNs);
}

void RunSamples::finish() {
    if (std::exchange(m_finished, true))
        return;
    m_meters->energy.finish(static_cast<double>(m_sampler.sinceSampleNs()) * 1e-9);
}

void RunSamples::addTo(RunResult &result) const {
    result.watching = m_meters->watching.total();
    result.surroundings = m_meters->surroundings.total();
    if (!m_pausedBefore)
        result.energy = m_meters->energy.total();
}

} // namespace lockstep::agent
