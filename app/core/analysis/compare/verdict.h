// SPDX-License-Identifier: MIT
#pragma once
// What is said of measured runs in a sentence; the same on screen, in a terminal and in every export.
#include <string>
#include <vector>

#include "analysis/compare/judgement.h"
#include "analysis/compare/repeat_group.h"

namespace lockstep::core {

struct VerdictText {
    std::string sentence; ///< empty until it can be said; runs that can't be told apart from the reference are named
    std::string speedUps; ///< the sentence's speed-ups with their intervals and no more, for where room is scarce
    std::string spread;   ///< what its intervals are, or why there are none
};
/// The judgement's sentence where the table was judged (judgement.h); else what its times alone say.
[[nodiscard]] VerdictText verdictText(const ResultTable &table);

/// The judgement's sentence: speed-ups with intervals and efficiency, the main cause of the largest gain and loss, the
/// control that has the cause without the method. Of more than four runs those that matter (thatMatter()).
[[nodiscard]] std::string verdictSentence(const ResultTable &table, const std::vector<RepeatGroup> &groups,
                                          const std::vector<PairJudgement> &pairs);

/// "The published cause, data loading, holds here for … (loading is 55 % of the step); it does not for … (6 %)."; empty where
/// none was published, or nothing was measured that could confirm it.
[[nodiscard]] std::string publishedCause(const ResultTable &table, const std::vector<RepeatGroup> &groups);

/// The pairs whose cause the sentence gives: the largest gain and the largest loss beyond chance. Null: none.
struct ExplainedPairs {
    const PairJudgement *gain = nullptr, *loss = nullptr;
};
[[nodiscard]] ExplainedPairs explainedPairs(const std::vector<PairJudgement> &pairs);

} // namespace lockstep::core
