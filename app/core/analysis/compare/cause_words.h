// SPDX-License-Identifier: MIT
#pragma once
// What made a run faster or slower, in words. Of training time, as speed-ups are; the waterfall beside it is launch to exit.
#include <string>
#include <vector>

#include "analysis/compare/judgement.h"
#include "analysis/compare/repeat_group.h"

namespace lockstep::core {

/// "1.74×"
[[nodiscard]] std::string timesText(double factor);
/// A run's name where a sentence begins.
[[nodiscard]] std::string atStart(std::string name);

/// "61 % of the training time that DDP on 2 devices saves is data loading and 27 % device compute: baseline, 2 workers reaches 1.70× by
/// itself."; empty where the change is none. The pair must have an attribution.
[[nodiscard]] std::string causeSentence(const std::vector<RepeatGroup> &groups, const std::vector<PairJudgement> &pairs,
                                        const PairJudgement &pair);
/// The same in few words, for a line that names the run: "91 % of the extra time is device compute".
[[nodiscard]] std::string causeClause(const Attribution &attribution);

} // namespace lockstep::core
