// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <vector>

namespace lockstep::trainer {

/// Quantile by nearest rank: one of the values, never an interpolation. `values` must not be empty.
[[nodiscard]] double quantile(std::vector<double> values, double share);
/// Half the width of the median's 95 % interval as a share of the median: 0.05 is ±5 %. By order statistics, which assume nothing
/// about the distribution (Hahn and Meeker, "Statistical Intervals", 1991, section 5.2). Absent with fewer than six values,
/// which have no such interval.
[[nodiscard]] std::optional<double> medianUncertainty(std::vector<double> values);

} // namespace lockstep::trainer
