#pragma once
#include <optional>
#include <vector>

namespace lockstep::trainer {

/// Nearest rank of a share of the values: a time that was measured, not one between two. Not of none.
[[nodiscard]] double quantile(std::vector<double> values, double share);
[[nodiscard]] double median(std::vector<double> values); ///< not of none
/// Half the width of the median's 95 % interval as a share of the median: 0.05 is ±5 %. By order statistics, which suppose
/// nothing of how times scatter (Hahn and Meeker, "Statistical Intervals", 1991, section 5.2). Absent of fewer than six values,
/// which have no such interval.
[[nodiscard]] std::optional<double> medianUncertainty(std::vector<double> values);

} // namespace lockstep::trainer
