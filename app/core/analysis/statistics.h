#pragma once
// Speed-ups with intervals. Pure functions; times in seconds, all positive and finite (else: absent).
#include <optional>
#include <vector>

namespace lockstep::core {

/// A speed-up with its 95 % interval.
struct SpeedUp {
    double factor = 1; ///< reference's time ÷ run's time: ratio of medians
    /// Welch's t on the logarithms of the repeats; absent with fewer than three repeats of either.
    std::optional<double> low, high;
    int referenceRepeats = 0, runRepeats = 0;
    [[nodiscard]] bool hasInterval() const { return low && high; }
    /// Whether the interval leaves 1 out; without an interval nothing can be told apart.
    [[nodiscard]] bool isDifferent() const { return hasInterval() && (*low > 1 || *high < 1); }
    bool operator==(const SpeedUp &) const = default;
};

/// Absent when either side has no time.
[[nodiscard]] std::optional<SpeedUp> speedUpOf(const std::vector<double> &reference, const std::vector<double> &run);

/// Student's t below which a share of 1 - (1 - confidence)/2 lies.
[[nodiscard]] double studentQuantile(double confidence, double degrees);

} // namespace lockstep::core
