// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

namespace lockstep::core {
class RunStore;

/// Which of some repeats of one run speaks for all where only one can be drawn: of those that are done, the one with the median
/// training time (of two in the middle, the shorter). While none is done, the newest that has steps, else the newest. Null
/// without repeats.
[[nodiscard]] const RunStore *medianRepeat(const std::vector<const RunStore *> &repeats);

} // namespace lockstep::core
