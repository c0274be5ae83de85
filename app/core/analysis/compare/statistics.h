// SPDX-License-Identifier: MIT
#pragma once
// Speed-ups with intervals. Pure functions; times in seconds, all positive and finite (else: absent).
//
// Run times scatter by factors rather than by seconds, so that their logarithms are near normal. The factor is the ratio of
// geometric means, exp(a - b) with a and b the mean logarithms of n and m repeats; every interval is centred on it.
//
// Welch's interval takes the two sides as independent: exp(a - b ± t · sqrt(sa²/n + sb²/m)), with variances sa² and sb² and
// Student's t for Welch and Satterthwaite's degrees of freedom
//     (sa²/n + sb²/m)² / ((sa²/n)²/(n-1) + (sb²/m)²/(m-1)).
// The paired interval takes the differences d within each round of an experiment: exp(mean d ± t · sd / sqrt(n)), n - 1 degrees
// of freedom. What the machine does to a whole round (another user, heat) cancels in it.
//
// Where each repeat of one side has one of the other in its round, the shorter of the two stands, each taken at 96 %: choosing
// the shorter costs about one point of coverage. Else Welch's stands, at 95 %. The choice was simulated (2 to 15 runs, 3, 5
// and 10 repeats; even and uneven spreads, drift, shocks shared by a round, stalls, autocorrelated noise): 94 to 97 % of
// the intervals hold the truth. tests/app/core/analysis/statistics_test.cpp and tests/bench/bench_verdict.cpp repeat it.
//
// Several runs against one reference: Holm's step-down keeps the chance of any false difference in the family below 5 %.
// A pooled variance (Dunnett's test) would find smaller differences, but claims false ones in 13 to 19 % of the families
// whose reference scatters more than the others.
//
// Sources: B. L. Welch, Biometrika 34 (1947) 28; F. E. Satterthwaite, Biometrics Bulletin 2 (1946) 110; Student, Biometrika 6
// (1908) 1; S. Holm, Scandinavian Journal of Statistics 6 (1979) 65.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::core {

/// Below this no interval is given: two repeats say next to nothing of a spread (t is 12.7 with one degree of freedom).
inline constexpr int repeatsForInterval = 3;

/// Speed-ups nearer to 1 than that are called equal.
inline constexpr double equalWithin = 0.03;
/// "within ±3 %"
[[nodiscard]] std::string equalWithinText();

/// What one repeat measured. Repeats with the same round were made one soon after another; an empty round pairs with none.
struct Repeat {
    double value = 0;
    std::string round = {};
    bool operator==(const Repeat &) const = default;
};

enum class IntervalMethod : std::uint8_t { None, Welch, Paired };
/// "Welch", "paired by round"; empty for None.
[[nodiscard]] std::string_view toString(IntervalMethod method);
/// At which confidence a method's interval is taken, so that 95 % of the intervals hold the truth.
[[nodiscard]] double confidenceOf(IntervalMethod method);

/// How far the mean of some repeats lies above another's, with its 95 % interval; in the values' unit.
struct MeanDifference {
    double value = 0;
    std::optional<double> low, high;              ///< absent with fewer than three repeats of either
    IntervalMethod method = IntervalMethod::None; ///< of the interval
    double chance = 1;                            ///< as SpeedUp's
};
/// Of values of any sign; `from` and `to` not empty.
[[nodiscard]] MeanDifference differenceOf(const std::vector<Repeat> &from, const std::vector<Repeat> &to);

/// A speed-up with its 95 % interval.
struct SpeedUp {
    double factor = 1;                            ///< reference's time ÷ run's time, of geometric means
    std::optional<double> low, high;              ///< absent with fewer than three repeats of either
    IntervalMethod method = IntervalMethod::None; ///< of the interval
    double chance = 1; ///< p: how often equal runs would differ by this much, both ways; 1 without an interval
    int referenceRepeats = 0, runRepeats = 0;
    int comparisons = 1; ///< with how many, itself included, it was judged: decideTogether()
    bool different = false;
    [[nodiscard]] bool hasInterval() const { return low && high; }
    /// Whether the run can be told from the reference, all comparisons of its family considered. Without an interval nothing
    /// can.
    [[nodiscard]] bool isDifferent() const { return different; }
    /// Whether the interval by itself leaves out 1.
    [[nodiscard]] bool leavesOutOne() const { return hasInterval() && (*low > 1 || *high < 1); }
    /// Whether the whole interval lies within equalWithin: then "equal" is an answer, while "can't tell yet" is none.
    [[nodiscard]] bool isEqual() const {
        return hasInterval() && !different && *low >= 1 / (1 + equalWithin) && *high <= 1 + equalWithin;
    }
    bool operator==(const SpeedUp &) const = default;
};

/// exp of the mean logarithm: what factors are ratios of, and what a table gives as the time of several repeats. Absent as meanFactorOf().
[[nodiscard]] std::optional<double> geometricMeanOf(const std::vector<Repeat> &times);

/// Absent when either side has no time, or one that is not positive and finite. meanFactorOf() leaves out the interval, which takes
/// most of the time.
[[nodiscard]] std::optional<double> meanFactorOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run);
[[nodiscard]] std::optional<SpeedUp> speedUpOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run);

/// Judges the speed-ups of one family, several runs against one reference, by Holm's method at 5 %. One that is null or has
/// no interval doesn't count. The plain intervals stay as they are.
void decideTogether(const std::vector<SpeedUp *> &family);

/// Student's t below which a share of 1 - (1 - confidence)/2 lies: 0.95 and 4 degrees give 2.776. `confidence` from 0 to
/// below 1, `degrees` above 0 and not necessarily whole; to some 1e-12.
[[nodiscard]] double studentQuantile(double confidence, double degrees);

} // namespace lockstep::core
