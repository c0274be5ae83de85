// SPDX-License-Identifier: MIT
#pragma once
// A repeat that no scatter of the others explains: the machine stalled, a disk filled, a neighbour woke up.
//
// Of two groups of n and m logarithms, the one that lies furthest from its group's mean is tested by its externally studentised
// residual
//     t = |y - mean| / (s · sqrt(1 - 1/n)),
// s pooled over both groups without it, n + m - 3 degrees of freedom, p times n + m (Bonferroni: the furthest of so many was
// chosen). The level is low, since a repeat that is left out wrongly makes an interval too short: at 0.1 %, intervals of runs of
// which one scatters three times as much as the other still hold the truth in 93.5 % and more.
//
// Source: R. D. Cook and S. Weisberg, Residuals and Influence in Regression (1982), section 2.2.2.
#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/compare/repeat.h"

namespace lockstep::core {

/// How often any repeat of two groups that scatter alike may be left out wrongly.
inline constexpr double standsOutAt = 0.001;

struct StandingOut {
    bool ofFirst = false;  ///< of the first group; else of the second
    std::size_t index = 0; ///< in its group
    double above = 0;      ///< how far above its group's other values' mean
    double chance = 1;     ///< p, over all repeats of both groups
    int number = 0;        ///< Repeat::number
    bool operator==(const StandingOut &) const = default;
};

/// The repeat that stands out at `standsOutAt` and by 3 % at least; absent: none, fewer than three of a group, or no scatter among
/// the others.
[[nodiscard]] std::optional<StandingOut> standingOut(const std::vector<Repeat> &first,
                                                     const std::vector<Repeat> &second);

} // namespace lockstep::core
