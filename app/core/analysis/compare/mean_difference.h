// SPDX-License-Identifier: MIT
#pragma once
// How far two means lie apart, and how well that is known. Pure functions.
//
// With variances sa² and sb² of n and m values, the difference d of the means has one of these 95 % intervals:
//
// Welch's takes the two sides as independent: d ± t · sqrt(sa²/n + sb²/m), with Student's t for Welch and Satterthwaite's degrees of
// freedom
//     (sa²/n + sb²/m)² / ((sa²/n)²/(n-1) + (sb²/m)²/(m-1)).
// The paired one takes the differences within each round of an experiment: d ± t · sd / sqrt(n), n - 1 degrees of freedom. What
// the machine does to a whole round (another user, heat) cancels in it.
// The one without drift takes one straight line in time, of slope c for both sides (analysis of covariance), out of the values. What is left
// is judged as Welch does, each side having paid half a degree of freedom for the slope, so n - 3/2 in place of n - 1:
//     d ± sqrt(t² · (sa²/n + sb²/m) · (1 + x²/Sxx / (1/n + 1/m)) + (c · x)²),
// x the difference of the mean moments, which balanced rounds keep small, Sxx their squares about each side's mean. The last term is
// what the drift did to d, since d stays the difference of the plain means.
//
// Where each repeat of one side has one of the other in its round, the shortest stands, each taken at 97 % (the paired one at
// 96 %): choosing costs one to two points of coverage. Else Welch's stands, at 95 %. tests/bench/bench_intervals.cpp simulates the
// choice (2, 5 and 15 runs; 3, 5 and 10 repeats; even and uneven spreads, drift, shocks shared by a round, stalls, an outlier, bimodal
// and autocorrelated noise): 93.5 to 97.5 % of the intervals hold the truth.
//
// One-sided bounds, for a question that has a direction ("slower by more than 5 %?"), are those of the same interval at twice the error:
// a two-sided 90 % interval has 5 % beyond each of its ends. tests/bench/bench_gate.cpp simulates them.
//
// After a repeat was left out (standing_out.h), Student's interval of two groups that scatter alike, at 97 %: of three repeats,
// two are left, whose own variance says next to nothing.
//
// Sources: B. L. Welch, Biometrika 34 (1947) 28; F. E. Satterthwaite, Biometrics Bulletin 2 (1946) 110; Student, Biometrika 6
// (1908) 1; R. A. Fisher, Statistical Methods for Research Workers, 4th ed. (1932), section 49.1 (analysis of covariance).
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/compare/repeat.h"

namespace lockstep::core {

/// Below this no interval is given: two repeats say next to nothing of a spread (t is 12.7 with one degree of freedom).
inline constexpr int repeatsForInterval = 3;

/// How often an interval misses.
inline constexpr double falseAlarms = 0.05;

enum class IntervalMethod : std::uint8_t { None, Welch, Paired, WithoutDrift, LeftOut };
/// "Welch", "paired by round", "drift removed", "one repeat left out"; empty for None.
[[nodiscard]] std::string_view toString(IntervalMethod method);
/// Of Student's t, with so many repeats of either side that scatter alike.
[[nodiscard]] double degreesOf(IntervalMethod method, int repeats);

/// How far the mean of some repeats lies above another's, with its 95 % interval and its bounds; in the values' unit.
struct MeanDifference {
    double value = 0;
    std::optional<double> low, high; ///< absent with fewer than three repeats of either
    std::optional<double> least,
        most; ///< one-sided: the true mean is below `least` in 5 % of cases, and above `most` in 5 %
    IntervalMethod method = IntervalMethod::None; ///< of the interval
    double confidence =
        1 - falseAlarms; ///< at which the interval was taken, so that 95 % of the chosen ones hold the truth
    double chance = 1;   ///< p: how often equal means would differ by this much, both ways; 1 without an interval
};
/// Of values of any sign; `from` and `to` not empty.
[[nodiscard]] MeanDifference differenceOf(const std::vector<Repeat> &from, const std::vector<Repeat> &to);
/// The same after one repeat of either was left out.
[[nodiscard]] MeanDifference differenceOfTheRest(const std::vector<Repeat> &from, const std::vector<Repeat> &to);

} // namespace lockstep::core
