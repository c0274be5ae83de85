// SPDX-License-Identifier: MIT
#pragma once
// What to try next about a bottleneck. For bottleneck.cpp.
#include <optional>
#include <string>
#include <vector>

#include "analysis/causes/bottleneck.h"
#include "analysis/causes/phase_parts.h"

namespace lockstep::core {

/// Steps of the whole run, of one rank: samples ÷ global batch, rounded up an epoch; of a script, those that it made. Absent if
/// they are unknown.
[[nodiscard]] std::optional<double> stepsOf(const RepeatGroup &group);

/// The rank that the others wait for, where its own work takes longer.
struct SlowRank {
    int rank = 0;           ///< the slowest
    std::vector<int> ranks; ///< with those that are about as slow, in ascending order
    double moreS = 0;       ///< its own time above the median of the others
    std::string phase;      ///< where most of that is
};
/// In the repeat in the middle; absent when no rank's own time is 5 % above the others', and when that explains less than half
/// of the waiting in `parts`, or is of ranks that wait themselves.
[[nodiscard]] std::optional<SlowRank> slowRankOf(const RepeatGroup &group, const TimeParts &parts);
/// The rank that the others wait for in every repeat, for whatever reason; absent where it is another one in each, or none.
[[nodiscard]] std::optional<int> lateRankOf(const RepeatGroup &group);

/// What even shares of a batch cost on devices that are not equally fast.
struct EvenShares {
    double slower = 1; ///< the slowest rank's own time ÷ the fastest's
    double wastes = 0; ///< share of the slowest rank's own time that shares in proportion to speed would save
    double savesS = 0; ///< the same in seconds of training
};
/// In the repeat in the middle: with shares in proportion to speed all of N ranks take N ÷ Σ(1/t), t being the own times with even
/// shares. Absent where the method can't share unevenly, or did.
[[nodiscard]] std::optional<EvenShares> evenSharesOf(const RepeatGroup &group);

/// The share of a run's time before a rank trains: median over repeats; absent where it was not reported.
[[nodiscard]] std::optional<double> launchShare(const RepeatGroup &group);
inline constexpr double launchFrom = 0.50; ///< the share from which it bounds a run

/// Most promising first, at most four, none that `others` hold.
[[nodiscard]] std::vector<SuggestedRun> tipsFor(const RepeatGroup &group, const TimeParts &parts,
                                                const Bottleneck &found, const MeasuredGroups &others);

} // namespace lockstep::core
