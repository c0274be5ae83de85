// SPDX-License-Identifier: MIT
#include "models/device_metric.h"

#include <algorithm>

#include "base/format.h"
#include "ipc/device_fields.h"

namespace lockstep::core {

namespace {

struct DeviceMetricRow {
    DeviceMetric metric;
    const char *title;
    std::optional<double> DeviceSample::*value;
};

constexpr DeviceMetricRow deviceMetricRows[] = {
    {DeviceMetric::Utilisation, "utilisation", &DeviceSample::utilization},
    {DeviceMetric::Memory, "memory used", &DeviceSample::memoryUsedBytes},
    {DeviceMetric::Power, "power", &DeviceSample::powerW},
    {DeviceMetric::Temperature, "temperature", &DeviceSample::temperatureC}};

const DeviceMetricRow &deviceMetricRow(DeviceMetric metric) {
    return *std::ranges::find(deviceMetricRows, metric, &DeviceMetricRow::metric);
}

} // namespace

QString metricTitle(DeviceMetric metric) {
    return QString::fromLatin1(deviceMetricRow(metric).title);
}

std::string_view metricName(DeviceMetric metric) {
    return nameOf(deviceMetricRow(metric).value);
}

std::optional<double> metricValue(const DeviceSample &sample, DeviceMetric metric) {
    return sample.*deviceMetricRow(metric).value;
}

QString metricText(std::optional<double> value, DeviceMetric metric, std::optional<double> full) {
    switch (metric) {
    case DeviceMetric::Utilisation:
        return percent(value, 0);
    case DeviceMetric::Memory:
        return bytes(value, full);
    case DeviceMetric::Power:
        return value ? significant(value) + QStringLiteral(" W") : significant(value);
    case DeviceMetric::Temperature:
        return value ? significant(value) + QStringLiteral(" °C") : significant(value);
    }
    return {};
}

QString whyUnknown(const std::string &kind, DeviceMetric metric) {
    if (kind == "cuda")
        return QStringLiteral("the GPU's driver does not report it");
    switch (metric) {
    case DeviceMetric::Utilisation:
        return QStringLiteral("the kernel's counters of these cores could not be read");
    case DeviceMetric::Memory:
        return QStringLiteral("a block of CPU cores has no memory of its own");
    case DeviceMetric::Power:
        return QStringLiteral("no meter measures what a block of CPU cores draws");
    case DeviceMetric::Temperature:
        return QStringLiteral("no sensor belongs to a block of CPU cores");
    }
    return {};
}

} // namespace lockstep::core
