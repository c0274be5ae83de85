#pragma once
#include <cstdint>

#include "ipc/frames.h"

namespace lockstep::core {

inline constexpr std::int64_t recentNs = 60'000'000'000; ///< how long windows of steps are kept for "the last N s"

/// Adds sums; the maximum is the larger one.
void add(PhaseTimes &sum, const PhaseTimes &more);
/// Sum of the phases that add up to an epoch.
[[nodiscard]] double additiveSum(const PhaseTimes &phases);

} // namespace lockstep::core
