// SPDX-License-Identifier: MIT
#pragma once
// The results of Verdict's cards, in one line for the head of each.
#include <QString>

#include "analysis/compare/judgement.h"

namespace lockstep::ui {

/// "DDP on 2 devices is the fastest: 1.42×"; empty until something was compared.
[[nodiscard]] QString fastestFinding(const core::Judgement &judgement);
/// "DP on 2 devices takes 1.50× as long; 91 % of the extra time is device compute".
[[nodiscard]] QString causeFinding(const core::PairJudgement &pair);
/// "2 decisive differences, 1 notable"; counts kinds of differences, not runs.
[[nodiscard]] QString fairnessFinding(const core::Judgement &judgement);
/// "Compute-bound: baseline, DP on 2 devices. Communication-bound: DDP on 2 devices."
[[nodiscard]] QString boundsFinding(const core::Judgement &judgement);

} // namespace lockstep::ui
