// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <vector>

#include "analysis/compare/repeat_group.h"
#include "analysis/compare/settling.h"

namespace lockstep::core {

/// Whole rounds of the table's experiment that would settle these comparisons, as one press starts them; `lacking`: rounds until
/// each has an interval. Absent where nothing is open, none can be settled, or the experiment can't be extended.
[[nodiscard]] std::optional<SuggestedRun> settlingRounds(const ResultTable &table, const std::vector<Settling> &open,
                                                         int lacking);

/// Rounds until a comparison that isUnsettled() has enough without other programs; absent where the experiment can't be extended.
[[nodiscard]] std::optional<SuggestedRun> quietRounds(const ResultTable &table, const SpeedUp &speedUp);

/// Rounds until a comparison has an interval; 0 or less: it has one.
[[nodiscard]] int lackingRepeats(const SpeedUp &speedUp);

/// "about 3 more repeats"
[[nodiscard]] std::string repeatsText(const SuggestedRun &rounds);

} // namespace lockstep::core
