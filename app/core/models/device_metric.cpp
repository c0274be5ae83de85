// SPDX-License-Identifier: MIT
#include "models/device_metric.h"

#include "base/format.h"

namespace lockstep::core {

std::optional<double> metricValue(const DeviceSample &sample, DeviceMetric metric) {
    switch (metric) {
    case DeviceMetric::Utilisation:
        return sample.utilization;
    case DeviceMetric::Memory:
        return sample.memoryUsedBytes;
    case DeviceMetric::Power:
        return sample.powerW;
    case DeviceMetric::Temperature:
        return sample.temperatureC;
    }
    return std::nullopt;
}

QString metricText(std::optional<double> value, DeviceMetric metric) {
    switch (metric) {
    case DeviceMetric::Utilisation:
        return percent(value, 0);
    case DeviceMetric::Memory:
        return bytes(value);
    case DeviceMetric::Power:
        return value ? significant(value) + QStringLiteral(" W") : significant(value);
    case DeviceMetric::Temperature:
        return value ? significant(value) + QStringLiteral(" °C") : significant(value);
    }
    return {};
}

QString whyUnknown(const std::string &kind, DeviceMetric metric) {
    if (kind == "cuda")
        return QStringLiteral("the GPU's driver does not tell it");
    switch (metric) {
    case DeviceMetric::Utilisation:
        return QStringLiteral("the kernel's counters of these cores could not be read");
    case DeviceMetric::Memory:
        return QStringLiteral("a block of CPU cores has no memory of its own");
    case DeviceMetric::Power:
        return QStringLiteral("no meter tells what a block of CPU cores draws");
    case DeviceMetric::Temperature:
        return QStringLiteral("no sensor belongs to a block of CPU cores");
    }
    return {};
}

} // namespace lockstep::core
