// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <vector>

namespace lockstep::trainer {

/// Quantile by nearest rank: always one of the values, never interpolated. `values` must not be empty; `share` is 0..1.
[[nodiscard]] double quantile(std::vector<double> values, double share);
/// Half the width of the median's 95 % confidence interval, as a share of the median: 0.05 is ±5 %. Uses order
/// statistics, which assume nothing about the distribution (Hahn and Meeker, "Statistical Intervals", 1991, section
/// 5.2). Absent for fewer than six values, which have no such interval.
[[nodiscard]] std::optional<double> medianUncertainty(std::vector<double> values);

} // namespace lockstep::trainer
