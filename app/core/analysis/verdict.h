#pragma once
#include <optional>
#include <string>
#include <vector>

namespace lockstep::core {
struct ResultTable;

/// A speed-up with its 95 % interval: reference's time ÷ run's time, by Welch's t on the logarithms of repeats.
struct SpeedUpInterval {
    double factor = 1, low = 1, high = 1;
    /// Whether the interval leaves 1 out.
    [[nodiscard]] bool isDifferent() const { return low > 1 || high < 1; }
};

/// Absent with fewer than two repeats of either, or times that are not positive.
[[nodiscard]] std::optional<SpeedUpInterval> speedUpInterval(const std::vector<double> &reference,
                                                             const std::vector<double> &run);

/// What the verdict says of what was measured so far; the same on screen, in a terminal and in every export.
struct VerdictText {
    std::string sentence; ///< empty until it can be said; names runs that can't be told apart from the reference
    std::string spread;   ///< the intervals and repeats in words
};
[[nodiscard]] VerdictText verdictText(const ResultTable &table);

} // namespace lockstep::core
