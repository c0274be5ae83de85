// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <vector>

namespace lockstep::core {

/// The arithmetic mean. Absent if there are none.
[[nodiscard]] std::optional<double> meanOf(const std::vector<double> &values);

/// The sample variance, by n - 1. Absent with fewer than two.
[[nodiscard]] std::optional<double> varianceOf(const std::vector<double> &values);

} // namespace lockstep::core
