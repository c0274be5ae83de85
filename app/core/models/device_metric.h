// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include <QString>

#include "ipc/frames.h"

namespace lockstep::core {

/// What a device's lane may show: 0..1, bytes, W, °C.
enum class DeviceMetric { Utilisation, Memory, Power, Temperature };

/// Absent when the device does not report it.
[[nodiscard]] std::optional<double> metricValue(const DeviceSample &sample, DeviceMetric metric);
/// "96 %", "1.2 GiB", "210 W", "64 °C", or "-".
[[nodiscard]] QString metricText(std::optional<double> value, DeviceMetric metric);
/// Why a device of that kind ("cpu", "cuda") does not report it.
[[nodiscard]] QString whyUnknown(const std::string &kind, DeviceMetric metric);

} // namespace lockstep::core
