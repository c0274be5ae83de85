// SPDX-License-Identifier: MIT
#pragma once
// What is said of measured runs in a sentence; the same on screen, in a terminal and in every export.
#include <string>
#include <vector>

#include "analysis/compare/judgement.h"
#include "analysis/compare/repeat_group.h"

namespace lockstep::core {

struct VerdictText {
    std::string
        sentence; ///< the judgement's (judgement.h); empty until something can be said, and of a table that was not judged
    std::string spread; ///< what its intervals are, or why there are none
};
[[nodiscard]] VerdictText verdictText(const ResultTable &table);

/// Where there is no sentence: that it is still to come, or, with no run waiting or under way, why it won't.
[[nodiscard]] std::string noVerdictText(const ResultTable &table);

/// The judgement's lines as a sentence each: outcome, speed-up with its interval and efficiency; then the main cause of the largest gain and
/// loss, the control that has the cause without the method. Empty until a line can be compared.
[[nodiscard]] std::string verdictSentence(const std::vector<RepeatGroup> &groups, const Judgement &judgement);
/// Outcomes and speed-ups and no more, for where room is scarce; empty as the sentence.
[[nodiscard]] std::string briefVerdict(const Judgement &judgement);

/// "The published cause, data loading, holds here for … (loading is 55 % of the step); it does not for … (6 %)."; empty where
/// none was published, or nothing was measured that could confirm it.
[[nodiscard]] std::string publishedCause(const ResultTable &table, const std::vector<RepeatGroup> &groups);

/// The pairs whose cause the sentence gives: the largest gain and the largest loss beyond chance, for as much work. Null: none.
struct ExplainedPairs {
    const PairJudgement *gain = nullptr, *loss = nullptr;
};
[[nodiscard]] ExplainedPairs explainedPairs(const std::vector<PairJudgement> &pairs);

} // namespace lockstep::core
