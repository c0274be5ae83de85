#pragma once
// Why one cell takes another time than its reference: a waterfall in seconds.
#include <optional>
#include <string>
#include <vector>

#include "analysis/cell.h"

namespace lockstep::core {

enum class Cause { DataLoading, Compute, Communication, Imbalance, StartUp, Unattributed };
[[nodiscard]] std::string_view toString(Cause cause); ///< "data loading", "device compute", "communication", …

/// One bar: what a cause adds to the reference's time, in seconds (negative: it saves). `low` and `high` are the extremes
/// over the orders in which controls can be applied; equal to `seconds` where there is one order only.
struct AttributionBar {
    Cause cause = Cause::Unattributed;
    double seconds = 0, low = 0, high = 0;
    bool operator==(const AttributionBar &) const = default;
};

/// What one changed setting does by itself, from control runs: mean over orders, with extremes, in seconds.
struct FactorEffect {
    std::string key;   ///< workers, loader, method
    std::string label; ///< "4 loading workers instead of 0"
    double seconds = 0, low = 0, high = 0;
    std::vector<std::string> controls; ///< names of the cells that it rests on
    bool operator==(const FactorEffect &) const = default;
};

struct Attribution {
    std::string reference, run;
    double referenceS = 0, runS = 0;   ///< launch to exit, medians over repeats
    std::vector<AttributionBar> bars;  ///< every cause once, in the enum's order; they add up to runS - referenceS
    std::vector<FactorEffect> factors; ///< empty: one setting differs, or controls are missing
    std::vector<SuggestedRun> missing; ///< controls that would tell the factors apart
    /// |unattributed| ÷ the larger of |runS - referenceS| and the larger time's hundredth.
    [[nodiscard]] double unattributedShare() const;
    bool operator==(const Attribution &) const = default;
};

/// Absent when either has no phases. `others`: cells that may serve as controls.
[[nodiscard]] std::optional<Attribution> attribute(const Cell &reference, const Cell &run,
                                                   const std::vector<Cell> &others);

} // namespace lockstep::core
