// SPDX-License-Identifier: MIT
#pragma once
// The repeats that the comparison of two groups counts (counted_repeats.h), for all of its figures: speed-ups, bars, conditions.
#include <optional>
#include <vector>

#include "analysis/compare/repeat_group.h"
#include "analysis/compare/statistics.h"

namespace lockstep::core {

using RunFigure = std::optional<double> (*)(const RunOutcome &);

[[nodiscard]] std::optional<double> trainingTimeOf(const RunOutcome &run); ///< the sum of its epochs
[[nodiscard]] std::optional<double> wholeTimeOf(const RunOutcome &run);    ///< launch to exit

/// Each repeat's value, where it is known; oldest first.
[[nodiscard]] std::vector<Repeat> repeatsOf(const RepeatGroup &group, RunFigure figure);

/// Chosen by training time; by the whole time where a repeat does not know that. Absent: neither is known of all.
[[nodiscard]] std::optional<CountedRepeats> countedOf(const RepeatGroup &reference, const RepeatGroup &run);

/// By any figure, of the repeats that count. One that is not known of all repeats makes a choice of its own.
[[nodiscard]] std::optional<SpeedUp> speedUpBy(RunFigure figure, const RepeatGroup &reference, const RepeatGroup &run,
                                               const std::optional<CountedRepeats> &counted);

/// The group with the repeats at these places only.
[[nodiscard]] RepeatGroup withOnly(const RepeatGroup &group, const std::vector<std::size_t> &places);

/// The group without disturbed rounds; as it is where nothing would be left of it.
[[nodiscard]] RepeatGroup withoutRounds(const RepeatGroup &group, const std::vector<std::string> &rounds);
/// Of the two, the rounds (roundOf()) in which a repeat of theirs does not count since it was disturbed.
[[nodiscard]] std::vector<std::string> roundsLeftOut(const RepeatGroup &reference, const RepeatGroup &run,
                                                     const CountedRepeats &counted);

} // namespace lockstep::core
