// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <vector>

namespace lockstep {

/// The middle value; for an even number of values the mean of the middle two. Absent if there are none.
[[nodiscard]] std::optional<double> median(std::vector<double> values);

} // namespace lockstep
