// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/use_history.h"

#include <algorithm>

namespace lockstep::agent {

void UseHistory::Mean::add(const Mean &other, double share) {
    if (other.seconds <= 0)
        return;
    max = seconds > 0 ? std::max(max, other.max) : other.max;
    sum += other.sum * share;
    seconds += other.seconds * share;
}

void UseHistory::add(std::int64_t fromNs, std::int64_t toNs, std::optional<double> utilization,
                     std::optional<double> memoryBytes) {
    if (toNs <= fromNs)
        return;
    const double seconds = static_cast<double>(toNs - fromNs) * 1e-9;
    const auto mean = [&](std::optional<double> value) {
        return value ? Mean{*value * seconds, seconds, *value} : Mean{};
    };
    m_samples.push_back({fromNs, toNs, mean(utilization), mean(memoryBytes)});
    if (m_samples.size() > m_limit)
        merge();
}

void UseHistory::merge() {
    std::deque<Sample> merged;
    const std::size_t older = m_samples.size() / 2 / 2 * 2;
    for (std::size_t i = 0; i < older; i += 2) {
        Sample pair = m_samples[i];
        pair.toNs = m_samples[i + 1].toNs;
        pair.utilization.add(m_samples[i + 1].utilization);
        pair.memory.add(m_samples[i + 1].memory);
        merged.push_back(pair);
    }
    merged.insert(merged.end(), m_samples.begin() + static_cast<std::ptrdiff_t>(older), m_samples.end());
    m_samples = std::move(merged);
}

DeviceEpochUse UseHistory::over(const std::string &device, std::int64_t fromNs, std::int64_t toNs) const {
    Mean utilization, memory, anyUtilization, anyMemory;
    for (auto sample = m_samples.rbegin(); sample != m_samples.rend() && sample->toNs > fromNs; ++sample) {
        const std::int64_t overlap = std::min(toNs, sample->toNs) - std::max(fromNs, sample->fromNs);
        if (overlap <= 0)
            continue;
        const double share = static_cast<double>(overlap) / static_cast<double>(sample->toNs - sample->fromNs);
        anyUtilization.add(sample->utilization, share);
        anyMemory.add(sample->memory, share);
        if (share > 0.5) {
            utilization.add(sample->utilization, share);
            memory.add(sample->memory, share);
        }
    }
    DeviceEpochUse use;
    use.device = device;
    if (anyUtilization.seconds > 0) {
        use.utilizationMean = anyUtilization.sum / anyUtilization.seconds;
        use.utilizationMax = utilization.seconds > 0 ? utilization.max : anyUtilization.max;
    }
    if (anyMemory.seconds > 0) {
        use.memoryMeanBytes = anyMemory.sum / anyMemory.seconds;
        use.memoryMaxBytes = memory.seconds > 0 ? memory.max : anyMemory.max;
    }
    return use;
}

} // namespace lockstep::agent
