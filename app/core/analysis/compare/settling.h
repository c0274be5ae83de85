// SPDX-License-Identifier: MIT
#pragma once
// How many repeats would settle a comparison that can't be decided. Pure functions.
//
// An interval reaches t · s / sqrt(n) on each side of the factor's logarithm. With the spread s that the repeats so far show,
// the number of repeats is looked for at which it reaches no further than wanted. Since s is known from few repeats, so is the
// number: tests/app/core/analysis/settling_test.cpp compares it with what it took.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
    /// One more repeat of both, in an experiment one more round of all its runs, launch to exit; absent: unknown.
    std::optional<double> roundS;
    /// lackingQuietRepeats(): nothing else can be estimated before.
    int quietLacking = 0;
    bool operator==(const Settling &) const = default;
};

/// Until there are three quiet rounds of each (Disturbance); 0: there are, or none was disturbed.
[[nodiscard]] int lackingQuietRepeats(const SpeedUp &speedUp);

/// How far an interval reaches on each side of the factor, as a share: 0.05 where it goes from factor ÷ 1.05 to factor × 1.05.
[[nodiscard]] std::optional<double> widthOf(const SpeedUp &speedUp);
/// About how many repeats of each it takes until an interval reaches no further than `width`, by the spread so far; absent without an
/// interval, and where it is more than mostRepeatsToSettle.
[[nodiscard]] std::optional<int> repeatsForWidth(const SpeedUp &speedUp, double width);

/// Absent where nothing is left to settle: no interval, a difference that is told apart, or runs that are equal.
[[nodiscard]] std::optional<Settling> settlingOf(const SpeedUp &speedUp, std::optional<double> roundS);

inline constexpr std::string_view wouldTell = "would tell", wouldGiveInterval = "would give an interval";
/// What so many more repeats of each do for the comparison: wouldTell, "would narrow it to ±5 %", wouldGiveInterval; empty: none of these.
[[nodiscard]] std::string_view whatRepeatsDo(const Settling &settling, int more);

/// "Repeats needed to tell the difference seen: about 12 (9 more, 4 min 10 s); for an interval within ±5 %: about 7 (…)."
[[nodiscard]] std::string settlingText(const Settling &settling);

/// What to add to an experiment: rounds, and what they are for.
struct MoreRounds {
    int rounds = 0;
    bool forWidth = false; ///< for ±5 %; else the intervals are so narrow already, and it is for the differences seen
    bool forQuiet = false; ///< for three rounds without other programs
};
/// As many as the slowest of these comparisons to settle needs; absent where none can be settled by mostRepeatsToSettle.
[[nodiscard]] std::optional<MoreRounds> roundsToSettle(const std::vector<Settling> &all);

} // namespace lockstep::core
