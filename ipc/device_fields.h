// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <optional>
#include <string_view>

#include "ipc/frames.h"

namespace lockstep {

/// What is measured of a device: its name in frames and exports, and where a sample holds it.
struct DeviceField {
    std::string_view name;
    std::optional<double> DeviceSample::*value;
};

inline constexpr DeviceField deviceFields[] = {{"utilization", &DeviceSample::utilization},
                                               {"sm_activity", &DeviceSample::smActivity},
                                               {"memory_used_bytes", &DeviceSample::memoryUsedBytes},
                                               {"memory_total_bytes", &DeviceSample::memoryTotalBytes},
                                               {"power_w", &DeviceSample::powerW},
                                               {"temperature_c", &DeviceSample::temperatureC},
                                               {"clock_mhz", &DeviceSample::clockMhz},
                                               {"energy_j", &DeviceSample::energyJ}};

[[nodiscard]] inline std::string_view nameOf(std::optional<double> DeviceSample::*value) {
    return std::ranges::find(deviceFields, value, &DeviceField::value)->name;
}

} // namespace lockstep
