// SPDX-License-Identifier: MIT
#pragma once
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
    void setRecorded(std::vector<std::string> names) { m_recorded = std::move(names); }
    void take(const Frame &frame, const DeviceFrame &body);

    [[nodiscard]] std::vector<std::string>
    names() const; ///< in the record's order; then others, as they were first reported
    /// The last hour of a device at 5 Hz, oldest first; null: never sampled.
    [[nodiscard]] const std::deque<LaneSample> *lane(const std::string &device) const;
    [[nodiscard]] std::optional<int> nodeOf(const std::string &device) const; ///< absent: never sampled
    /// Processor seconds per second of all viewers on the run's machine, mean of the last ten seconds of samples. Absent:
    /// there is no viewer, or it is unknown yet.
    [[nodiscard]] std::optional<double> viewersShare() const;

private:
    void takeViewers(std::int64_t wallUs, const DeviceFrame &body);

    struct Lane {
        int node = 0;
        std::deque<LaneSample> samples;
    };
    struct ViewersUse {
        std::int64_t wallUs = 0;
        double intervalS = 0, cpuS = 0;
    };
    std::vector<std::string> m_recorded, m_sampled;
    std::map<std::string, Lane> m_lanes;
    std::deque<ViewersUse> m_viewers; ///< of the last ten seconds
};

} // namespace lockstep::core
