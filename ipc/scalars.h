// SPDX-License-Identifier: MIT
#pragma once
// Values of metrics (ipc/metrics.h) in frames: gradient norm, learning rate, whatever a script measures.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace lockstep {

/// A metric over some steps. Two of them can be merged without loss. All values may be non-finite.
struct ScalarWindow {
    double sum = 0;    ///< of the values; for a rate, what was counted
    double weight = 1; ///< number of values; for a rate, the seconds. Above 0
    double min = 0, max = 0, last = 0;

    [[nodiscard]] double mean() const { return sum / weight; }
    bool operator==(const ScalarWindow &) const = default;
};
/// By name; a metric that was not measured is absent.
using Scalars = std::map<std::string, ScalarWindow, std::less<>>;

/// One value of each metric, by name.
using MetricValues = std::map<std::string, double, std::less<>>;

inline constexpr std::size_t maxScalars = 32;         ///< per frame, and different ones per run
inline constexpr std::size_t maxScalarNameBytes = 48; ///< so that 32 of them fit into a frame
/// Letters, digits and _, at most 48, not beginning with a digit.
[[nodiscard]] bool isScalarName(std::string_view name);

/// A single value.
[[nodiscard]] ScalarWindow scalarOf(double value);
/// Adds a later window.
void merge(ScalarWindow &earlier, const ScalarWindow &later);
/// The same for each name. Once there are maxScalars names, further ones are dropped.
void merge(Scalars &earlier, const Scalars &later);

/// Adds one value to the metric with that name.
void add(Scalars &scalars, std::string_view name, double value);

/// The smaller and the larger of two values; NaN if either is NaN, which std::min and std::max may lose.
[[nodiscard]] double lesserOrNan(double a, double b);
[[nodiscard]] double greaterOrNan(double a, double b);

} // namespace lockstep
