// SPDX-License-Identifier: MIT
#include "store/run_devices.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>

#include "ipc/device_fields.h"

namespace lockstep::core {
namespace {

constexpr std::size_t laneLimit = 18'000; // an hour at 5 Hz
constexpr std::int64_t viewersUs = 10'000'000;
static_assert(mostRunDevices <= std::numeric_limits<std::uint16_t>::max());

LaneSample withoutTexts(const LaneSample &full) {
    LaneSample out{full.wallUs, {}};
    for (const DeviceField &field : deviceFields)
        out.sample.*field.value = full.sample.*field.value;
    return out;
}

} // namespace

void RunDevices::take(const Frame &frame, const DeviceFrame &body) {
    for (const DeviceSample &sample : body.devices) {
        if (m_lanes.size() >= mostRunDevices && !m_lanes.contains(sample.device))
            continue;
        const auto [known, isNew] = m_lanes.try_emplace(sample.device);
        if (isNew) {
            known->second.node = frame.node.value_or(0);
            known->second.place = m_sampled.size();
            m_sampled.push_back(sample.device);
        }
        keep(known->second, frame.wallUs, sample);
    }
    if (frame.node.value_or(0) == 0) // viewers follow agent 0
        takeViewers(frame.wallUs, body);
}

void RunDevices::keep(Lane &lane, std::int64_t wallUs, const DeviceSample &sample) {
    if (!lane.samples.empty()) {
        LaneSample earlier = withoutTexts(lane.samples.back());
        lane.samples.pop_back(); // with the memory of its texts
        lane.samples.push_back(std::move(earlier));
    }
    lane.samples.push_back({wallUs, sample});
    if (lane.samples.size() > laneLimit) {
        lane.samples.pop_front();
        ++lane.dropped;
    }
    m_order.push_back(static_cast<std::uint16_t>(lane.place));
    if (m_order.size() > m_limit)
        dropOldest();
}

void RunDevices::dropOldest() {
    Lane &lane = m_lanes.at(m_sampled[m_order.front()]);
    m_order.pop_front();
    if (lane.dropped > 0)
        --lane.dropped;
    else if (lane.samples.size() > 1)
        lane.samples.pop_front();
}

void RunDevices::takeViewers(std::int64_t wallUs, const DeviceFrame &body) {
    std::optional<double> cores; // unknown in a viewer's first sample
    for (const ProcessSample &viewer : body.viewers)
        if (viewer.cpuCores)
            cores = cores.value_or(0) + *viewer.cpuCores;
    if (cores && !m_viewers.empty() && m_viewers.back().wallUs == wallUs) // another part of the same sample
        m_viewers.back().cpuS += *cores * body.intervalS;
    else if (cores)
        m_viewers.push_back({wallUs, body.intervalS, *cores * body.intervalS});
    while (!m_viewers.empty() && m_viewers.front().wallUs < wallUs - viewersUs)
        m_viewers.pop_front();
}

std::vector<std::string> RunDevices::names() const {
    std::vector<std::string> names = m_recorded;
    std::ranges::copy_if(m_sampled, std::back_inserter(names),
                         [recorded = std::set<std::string_view>(m_recorded.begin(), m_recorded.end())](
                             const std::string &sampled) { return !recorded.contains(sampled); });
    return names;
}

const std::deque<LaneSample> *RunDevices::lane(const std::string &device) const {
    const auto found = m_lanes.find(device);
    return found == m_lanes.end() ? nullptr : &found->second.samples;
}

std::optional<int> RunDevices::nodeOf(const std::string &device) const {
    const auto found = m_lanes.find(device);
    return found == m_lanes.end() ? std::nullopt : std::optional(found->second.node);
}

std::optional<double> RunDevices::viewersShare() const {
    double timeS = 0, cpuS = 0;
    for (const ViewersUse &use : m_viewers) {
        timeS += use.intervalS;
        cpuS += use.cpuS;
    }
    return timeS > 0 ? std::optional(cpuS / timeS) : std::nullopt;
}

} // namespace lockstep::core
