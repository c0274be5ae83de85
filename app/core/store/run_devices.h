// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/run_data.h"

namespace lockstep::core {

/// The devices of a run as its agents sample them, and the CPU time of its viewers.
class RunDevices {
public:
    static constexpr std::size_t usualLimit = 2'000'000; ///< samples: an hour of 100 devices, 13 minutes of 512
    explicit RunDevices(std::size_t limit = usualLimit) : m_limit(limit) {}

    void setRecorded(std::vector<std::string> names) { m_recorded = std::move(names); }
    void take(const Frame &frame, const DeviceFrame &body);

    [[nodiscard]] std::vector<std::string>
    names() const; ///< in the record's order; then others, as they were first reported
    /// The last hour of a device at 5 Hz, oldest first; null: never sampled. Of many devices less: the oldest of all their samples go
    /// beyond the limit, but for each device's newest. That alone has texts.
    [[nodiscard]] const std::deque<LaneSample> *lane(const std::string &device) const;
    [[nodiscard]] std::optional<int> nodeOf(const std::string &device) const; ///< absent: never sampled
    /// Processor seconds per second of all viewers on the run's machine, mean of the last ten seconds of samples. Absent:
    /// there is no viewer, or it is unknown yet.
    [[nodiscard]] std::optional<double> viewersShare() const;

private:
    struct Lane {
        int node = 0;
        std::size_t place = 0; ///< in m_sampled
        std::deque<LaneSample> samples;
        std::size_t dropped = 0; ///< samples that m_order has still
    };
    void keep(Lane &lane, std::int64_t wallUs, const DeviceSample &sample);
    void dropOldest();
    void takeViewers(std::int64_t wallUs, const DeviceFrame &body);

    struct ViewersUse {
        std::int64_t wallUs = 0;
        double intervalS = 0, cpuS = 0;
    };
    std::size_t m_limit;
    std::vector<std::string> m_recorded, m_sampled;
    std::map<std::string, Lane> m_lanes;
    std::deque<std::uint16_t> m_order; ///< of all samples as they came: whose each is, by place in m_sampled
    std::deque<ViewersUse> m_viewers;  ///< of the last ten seconds
};

} // namespace lockstep::core
