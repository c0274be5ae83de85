// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <QString>

#include "ipc/frames.h"

namespace lockstep::core {

/// A figure that a device's lane can show: 0..1, bytes, W, °C.
enum class DeviceMetric { Utilisation, Memory, Power, Temperature };
inline constexpr DeviceMetric deviceMetrics[] = {DeviceMetric::Utilisation, DeviceMetric::Memory, DeviceMetric::Power,
                                                 DeviceMetric::Temperature};

[[nodiscard]] QString metricTitle(DeviceMetric metric);
/// Its name in frames and exports, with the unit: "power_w".
[[nodiscard]] std::string_view metricName(DeviceMetric metric);

/// Absent when the device does not report it.
[[nodiscard]] std::optional<double> metricValue(const DeviceSample &sample, DeviceMetric metric);
/// "96 %", "1.2 GiB", "210 W", "64 °C", or "-".
[[nodiscard]] QString metricText(std::optional<double> value, DeviceMetric metric, std::optional<double> full = {});
/// Why a device of that kind ("cpu", "cuda") does not report it.
[[nodiscard]] QString whyUnknown(const std::string &kind, DeviceMetric metric);

} // namespace lockstep::core
