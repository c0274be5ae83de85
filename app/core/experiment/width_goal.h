// SPDX-License-Identifier: MIT
#pragma once
// An experiment that repeats its runs until they are known well enough: a goal for the widest 95 % interval, never for a difference.
#include <optional>
#include <string>
#include <string_view>

#include "ipc/error.h"

namespace lockstep::core {
/// Rounds are added until the 95 % interval of every run's speed-up by training time reaches no further than `width` on each
/// side of its factor: from factor ÷ (1 + width) to factor × (1 + width).
struct WidthGoal {
    double width = 0.05; ///< a share of the factor
    int mostRounds = 30;
    bool operator==(const WidthGoal &) const = default;
};
/// Below three repeats no interval is given (analysis/compare/statistics.h).
inline constexpr int leastRoundsOfGoal = 3;
inline constexpr int mostRoundsOfGoal = 1000;

/// "5%" or "5 %", from 0.1 to 100.
[[nodiscard]] Result<double> widthFrom(std::string_view text);
[[nodiscard]] std::string widthText(double width); ///< "±5 %", "±0.62 %"
/// The error if an experiment that begins with `rounds` rounds can't have the goal.
[[nodiscard]] std::optional<Error> mistakeOf(const WidthGoal &goal, int rounds);

/// What `rounds` rounds of several runs, and perhaps a goal, will show: that rounds are added, or that so few give no interval. Empty:
/// neither.
[[nodiscard]] std::string roundsNote(int rounds, const std::optional<WidthGoal> &goal);

/// How narrow the intervals are after some rounds.
struct WidthReached {
    int rounds = 0;              ///< that are over
    std::optional<double> width; ///< the widest interval's; absent while a run has none
    std::string run;             ///< whose interval is the widest, or is missing; empty: none to compare
    std::optional<int> expected; ///< rounds in all until the goal, estimated; absent: unknown, or more than allowed
    bool narrow = false;         ///< the goal is reached
    bool operator==(const WidthReached &) const = default;
};

/// A round and its reverse: added together, they keep the order balanced (round_order.h).
inline constexpr int roundsAddedAtOnce = 2;
/// Rounds to add next: none where the goal is reached or nothing stands beside the reference, never more than allowed.
[[nodiscard]] int roundsToAdd(const WidthGoal &goal, const WidthReached &reached);

/// A goal and how far it is.
struct WidthProgress {
    WidthGoal goal;
    std::optional<WidthReached> reached; ///< absent before the first round is over
    bool settled = false;                ///< no further round will be added
    bool operator==(const WidthProgress &) const = default;
};

/// "After 5 rounds the widest interval reaches ±9.1 % (DDP on 2 devices); ±5 % is expected after about 9 rounds, 4 min 10 s more." `roundS`: one
/// more round; absent: unknown.
[[nodiscard]] std::string progressText(const WidthProgress &progress, std::optional<double> roundS);

} // namespace lockstep::core
