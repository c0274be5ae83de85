// SPDX-License-Identifier: MIT
#pragma once
// How many repeats would settle a comparison that can't be decided. Pure functions.
//
// An interval reaches t · s / sqrt(n) on each side of the factor's logarithm. With the spread s that the repeats so far show,
// the number of repeats is looked for at which it reaches no further than wanted. Since s is known from few repeats, so is the
// number: tests/app/core/analysis/settling_test.cpp compares it with what it took.
#include <optional>
#include <string>

#include "analysis/compare/statistics.h"

namespace lockstep::core {

/// More repeats than that are no answer.
inline constexpr int mostRepeatsToSettle = 100;

struct Settling {
    int repeats = 0; ///< of each run so far
    /// Of each run in all, until a difference of the size seen is told apart; absent: more than mostRepeatsToSettle.
    std::optional<int> forDifference;
    /// The same until the interval reaches no further than 5 % on each side.
    std::optional<int> forFivePercent;
    std::optional<double> roundS; ///< one more repeat of both, launch to exit; absent: unknown
    bool operator==(const Settling &) const = default;
};

/// Absent where nothing is left to settle: no interval, a difference that is told apart, or runs that are equal.
[[nodiscard]] std::optional<Settling> settlingOf(const SpeedUp &speedUp, std::optional<double> roundS);

/// "About 12 repeats of each (9 more, 4 min 10 s) would tell a difference of the size seen, about 7 (…) would put the interval
/// within ±5 %."
[[nodiscard]] std::string settlingText(const Settling &settling);

} // namespace lockstep::core
