// SPDX-License-Identifier: MIT
#pragma once
// The whole verdict of some runs, as the window, lockstepctl and every export show it: one code path.
#include <optional>
#include <string>
#include <vector>

#include "analysis/causes/attribution.h"
#include "analysis/causes/bottleneck.h"
#include "analysis/compare/result_table.h"
#include "analysis/compare/settling.h"
#include "analysis/compare/statistics.h"
#include "analysis/compare/verdict_lines.h"
#include "analysis/fairness/fairness.h"
#include "analysis/fairness/order_effects.h"
#include "analysis/fairness/shared_load.h"

namespace lockstep::core {

/// One run against the reference, or against a control.
struct PairJudgement {
    std::string reference, run; ///< names of groups
    int devices = 1;
    std::optional<SpeedUp> training; ///< by training time: sum of epoch durations
    std::optional<SpeedUp> epoch;    ///< by the median epoch after the first
    std::optional<SpeedUp> wholeRun; ///< launch to exit; absent, too, where one of the two knows only its frames' span
    /// efficiencyOf() the training speed-up; absent, too, where their work or their means differ decisively.
    std::optional<double> efficiency;
    /// Rounds (roundOf()) that it does not count, since other programs were busy in them.
    std::vector<std::string> disturbedRounds;
    /// Of training time, for load that was measured; absent where it can't be fitted, or rounds are left out for that load.
    std::optional<AdjustedFactor> adjusted;
    std::optional<Settling> settling; ///< of training time; absent where nothing is left that repeats could settle
    std::optional<double> accuracyDifference, lossDifference; ///< run's median less the reference's
    std::vector<FairnessFinding> fairness;
    /// The two had other work (measured_control.h): `training` says nothing of the two and is not shown; the other factors are absent.
    bool otherWork = false;
    std::optional<Attribution> attribution; ///< absent, too, where there is an `otherEpochs`
    std::string otherEpochs;                ///< whyOtherEpochs()
};

struct Judgement {
    std::string reference;
    std::vector<VerdictLine> lines; ///< what a person reads first
    std::size_t moreRuns = 0;       ///< that have no line of their own: the table has them
    std::string sentence;           ///< a manager reads it, an engineer checks it; empty until something can be said
    std::string publishedCause; ///< whether the published cause holds here, in a sentence; empty: none was published
    std::string matters; ///< where the runs differ in one setting alone: whether that matters (setting_matters.h)
    std::vector<std::string> reservations; ///< a sentence each: what keeps the sentence from being taken at its word
    /// Those that neither a finding of fairness nor a button that settles them shows already, for who shows these as well.
    std::vector<std::string> otherReservations;
    /// Rounds of the experiment that would settle what these repeats can't, or give intervals at all; absent where nothing is left, where they would be too
    /// many, and while its runs go on.
    std::optional<SuggestedRun> settling;
    std::vector<PairJudgement> pairs;
    /// Of runs whose comparison with the reference isn't fair: with the control that takes its place (measured_control.h).
    std::vector<PairJudgement> controlled;
    std::vector<SharedLoad> sharedLoads;   ///< what all runs had to bear alike
    std::vector<OrderEffect> orderEffects; ///< whether times depended on when a repeat was made
    std::vector<Bottleneck> bottlenecks;   ///< one a group
};

/// `varies`: the recipe's. 1,000 runs in under a second.
[[nodiscard]] Judgement judge(const ResultTable &table, const std::vector<RunOutcome> &outcomes,
                              const std::vector<std::string> &varies);
/// The table with what the judgement says of it: its sentence, its reservations, and an unfair row's note. Every export shows
/// them.
[[nodiscard]] ResultTable judged(ResultTable table, const Judgement &judgement);
/// Indented JSON, keys with units; unknown is null.
[[nodiscard]] std::string toJson(const Judgement &judgement);

} // namespace lockstep::core
