// SPDX-License-Identifier: MIT
#pragma once
// Speed-ups with intervals. Pure functions; times in seconds, all positive and finite (else: absent).
//
// Run times scatter by factors rather than by seconds, so that their logarithms are near normal. The factor is the ratio of
// geometric means, exp(a - b) with a and b the mean logarithms of n and m repeats, of those that count
// (counted_repeats.h); every interval is centred on it (mean_difference.h).
//
// Several runs against one reference: Holm's step-down at 4 % keeps the chance of any false difference in a family of 15 runs with three
// repeats below 6 % for every noise that bench_intervals.cpp plants; at 5 % it was 6.3 % where times have two modes.
// A pooled variance (Dunnett's test) would find smaller differences, but claims false ones in 13 to 19 % of the families
// whose reference scatters more than the others. Among k comparisons a repeat counts as standing out at 0.1 % ÷ k: else a
// reference that scatters more than the others would lose one too often.
//
// Source: S. Holm, Scandinavian Journal of Statistics 6 (1979) 65.
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/counted_repeats.h"
#include "analysis/compare/mean_difference.h"

namespace lockstep::core {

/// Whether two of these went on from one checkpoint, so that they are no independent measurements and give no interval.
[[nodiscard]] bool shareEarlierEpochs(const std::vector<Repeat> &repeats);
inline constexpr const char *sharedEpochsReason = "repeats that went on from one checkpoint share its epochs";

/// Speed-ups nearer to 1 than that are called equal.
inline constexpr double equalWithin = 0.03;
/// "within ±3 %"
[[nodiscard]] std::string equalWithinText();

/// A speed-up with its 95 % interval.
struct SpeedUp {
    double factor = 1;               ///< reference's time ÷ run's time, of geometric means of the repeats that count
    std::optional<double> low, high; ///< absent with fewer than three repeats of either, and where `shareEpochs`
    IntervalMethod method = IntervalMethod::None; ///< of the interval
    double chance = 1; ///< p: how often equal runs would differ by this much, both ways; 1 without an interval
    int referenceRepeats = 0, runRepeats = 0; ///< without disturbed ones where these are left out
    int comparisons = 1;                      ///< with how many, itself included, it was judged: decideTogether()
    bool different = false;
    double confidence = 1 - falseAlarms;     ///< as MeanDifference's
    std::optional<StandingOut> leftOut = {}; ///< a repeat that counts for nothing; "first" is the reference
    double chanceOfAll = 1;                  ///< as `chance`, with that repeat
    std::optional<Disturbance> disturbance = {};
    bool shareEpochs = false; ///< repeats of either went on from one checkpoint: they are no independent measurements
    std::optional<double> least = {}, most = {}; ///< one-sided 95 % bounds, as MeanDifference's; absent as the interval
    /// Whether too few quiet rounds are left for an answer: then it is neither told apart nor equal.
    [[nodiscard]] bool isUnsettled() const { return disturbance && !disturbance->isLeftOut(); }
    [[nodiscard]] bool hasInterval() const { return low && high; }
    /// Whether the run can be told from the reference, all comparisons of its family considered. Without an interval nothing
    /// can.
    [[nodiscard]] bool isDifferent() const { return different; }
    /// Whether the interval by itself leaves out 1.
    [[nodiscard]] bool leavesOutOne() const { return hasInterval() && (*low > 1 || *high < 1); }
    /// Whether the whole interval lies within equalWithin: then "equal" is an answer, while "can't tell yet" is none.
    [[nodiscard]] bool isEqual() const {
        return hasInterval() && !different && !isUnsettled() && *low >= 1 / (1 + equalWithin) &&
               *high <= 1 + equalWithin;
    }
    bool operator==(const SpeedUp &) const = default;
};

/// exp of the mean logarithm: what factors are ratios of, and what a table gives as the time of several repeats. Absent as meanFactorOf().
[[nodiscard]] std::optional<double> geometricMeanOf(const std::vector<Repeat> &times);

/// Absent when either side has no time, or one that is not positive and finite. meanFactorOf() leaves out the interval, which takes
/// most of the time.
[[nodiscard]] std::optional<double> meanFactorOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run);
[[nodiscard]] std::optional<double> meanFactorOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run,
                                                 const CountedRepeats &counted);
[[nodiscard]] std::optional<SpeedUp> speedUpOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run);
/// Of another figure of the same repeats, in the same order.
[[nodiscard]] std::optional<SpeedUp> speedUpOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run,
                                               const CountedRepeats &counted);
/// What a comparison counts; absent when either side has no time, or one that is not positive and finite.
[[nodiscard]] std::optional<CountedRepeats> countedOf(const std::vector<Repeat> &reference,
                                                      const std::vector<Repeat> &run);

/// Judges the speed-ups of one family, several runs against one reference, by Holm's method. One that is null or has
/// no interval doesn't count. The plain intervals stay as they are.
void decideTogether(const std::vector<SpeedUp *> &family);

} // namespace lockstep::core
