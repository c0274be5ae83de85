#pragma once
#include <QString>

#include <optional>
#include <vector>

namespace lockstep::core {
class RunSet;
struct ResultTable;
} // namespace lockstep::core

namespace lockstep::ui {

/// A speed-up with its 95 % interval: reference's time ÷ run's time, by Welch's t on the logarithms of repeats.
struct SpeedUpInterval {
    double factor = 1, low = 1, high = 1;
    /// Whether the interval leaves 1 out.
    [[nodiscard]] bool isDifferent() const { return low > 1 || high < 1; }
};

/// Absent with fewer than two repeats of either, or times that are not positive.
[[nodiscard]] std::optional<SpeedUpInterval> speedUpInterval(const std::vector<double> &reference,
                                                             const std::vector<double> &run);

/// What the verdict says of what was measured so far.
struct VerdictText {
    QString sentence; ///< empty until it can be said; names runs that can't be told apart from the reference
    QString spread;   ///< the intervals and repeats in words
};
[[nodiscard]] VerdictText verdictText(const core::ResultTable &table, const core::RunSet &runs);

} // namespace lockstep::ui
