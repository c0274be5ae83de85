// SPDX-License-Identifier: MIT
#pragma once
// Values of metrics (ipc/metrics.h) as frames carry them: gradient norm, learning rate, whatever a script measures.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace lockstep {

/// One metric over some steps, such that two of them merge without loss. Any value may be non-finite.
struct ScalarWindow {
    double sum = 0;    ///< of the values; of a rate, what was counted
    double weight = 1; ///< how many values; of a rate, the seconds. Above 0
    double min = 0, max = 0, last = 0;

    [[nodiscard]] double mean() const { return sum / weight; }
    bool operator==(const ScalarWindow &) const = default;
};
/// By the metric's name; a metric that was not measured is absent.
using Scalars = std::map<std::string, ScalarWindow, std::less<>>;

/// One value of each metric, by name.
using MetricValues = std::map<std::string, double, std::less<>>;

inline constexpr std::size_t maxScalars = 32;         ///< in a frame, and different ones in a run
inline constexpr std::size_t maxScalarNameBytes = 48; ///< so that 32 of them fit into a frame
/// Letters, digits and _, not starting with a digit, at most 48 of them.
[[nodiscard]] bool isScalarName(std::string_view name);

/// A single value.
[[nodiscard]] ScalarWindow scalarOf(double value);
/// Adds what came later.
void merge(ScalarWindow &earlier, const ScalarWindow &later);
/// Likewise by name. Past maxScalars names, further ones are left out.
void merge(Scalars &earlier, const Scalars &later);

/// Adds one value to the metric of that name.
void add(Scalars &scalars, std::string_view name, double value);

/// The smaller and the larger of two values; NaN when either is: std::min and std::max may lose it.
[[nodiscard]] double lesserOrNan(double a, double b);
[[nodiscard]] double greaterOrNan(double a, double b);

} // namespace lockstep
