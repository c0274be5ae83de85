// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <vector>

namespace lockstep {

/// The middle value; of an even number the mean of the two in the middle. Absent of none.
[[nodiscard]] std::optional<double> median(std::vector<double> values);

} // namespace lockstep
