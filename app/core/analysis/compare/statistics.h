// SPDX-License-Identifier: MIT
#pragma once
// Speed-ups with intervals. Pure functions; times in seconds, all positive and finite (else: absent).
//
// Run times scatter by factors rather than by seconds, so that their logarithms are near normal. With means a, b and
// variances sa², sb² of n and m logarithms, Welch's interval of the speed-up is
//     exp(a - b ± t · sqrt(sa²/n + sb²/m)),
// t being Student's quantile for Welch and Satterthwaite's degrees of freedom
//     (sa²/n + sb²/m)² / ((sa²/n)²/(n-1) + (sb²/m)²/(m-1)).
// Sources: B. L. Welch, Biometrika 34 (1947) 28; F. E. Satterthwaite, Biometrics Bulletin 2 (1946) 110. How often it covers
// a planted speed-up is simulated in tests/app/core/analysis/statistics_test.cpp: 95 to 97 % at 3 to 10 repeats. A machine that
// drifts while cells take turns makes it wider than need be, since both cells drift alike: it errs to the safe side.
#include <optional>
#include <vector>

namespace lockstep::core {

/// Below this no interval is given: two repeats tell next to nothing of a spread (t is 12.7 with one degree of freedom).
inline constexpr int repeatsForInterval = 3;

/// A speed-up with its 95 % interval.
struct SpeedUp {
    double factor = 1; ///< reference's time ÷ run's time: ratio of medians, as the table shows it
    /// Welch's t on the logarithms of the repeats; absent with fewer than three repeats of either. It is centred on the
    /// ratio of geometric means; where the ratio of medians would lie outside (possible from five repeats on, with times of
    /// two kinds), it is stretched to hold that too.
    std::optional<double> low, high;
    int referenceRepeats = 0, runRepeats = 0;
    [[nodiscard]] bool hasInterval() const { return low && high; }
    /// Whether the interval leaves 1 out; without an interval nothing can be told apart.
    [[nodiscard]] bool isDifferent() const { return hasInterval() && (*low > 1 || *high < 1); }
    bool operator==(const SpeedUp &) const = default;
};

/// Absent when either side has no time, or one that is not positive and finite.
[[nodiscard]] std::optional<SpeedUp> speedUpOf(const std::vector<double> &reference, const std::vector<double> &run);

/// Student's t below which a share of 1 - (1 - confidence)/2 lies: 0.95 and 4 degrees give 2.776. `confidence` from 0 to
/// below 1, `degrees` above 0 and not necessarily whole; to some 1e-12.
[[nodiscard]] double studentQuantile(double confidence, double degrees);

} // namespace lockstep::core
