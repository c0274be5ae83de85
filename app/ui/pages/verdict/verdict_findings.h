// SPDX-License-Identifier: MIT
#pragma once
// What each of Verdict's cards found, in one line that stands at its head.
#include <QString>

#include "analysis/compare/judgement.h"

namespace lockstep::ui {

/// "DDP ×2 is the fastest: 1.42×"; empty until something was compared.
[[nodiscard]] QString fastestFinding(const core::Judgement &judgement);
/// "DP ×2 takes 1.50× as long; 91 % of the extra time is device compute".
[[nodiscard]] QString causeFinding(const core::PairJudgement &pair);
/// "2 decisive differences, 1 notable"; of the kinds of difference, however many runs have them.
[[nodiscard]] QString fairnessFinding(const core::Judgement &judgement);
/// "Compute-bound: baseline, DP ×2. Communication-bound: DDP ×2."
[[nodiscard]] QString boundsFinding(const core::Judgement &judgement);

} // namespace lockstep::ui
