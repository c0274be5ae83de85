// SPDX-License-Identifier: MIT
#pragma once
// The results of Verdict's cards, in one line for the head of each.
#include <QString>

#include "analysis/compare/judgement.h"

namespace lockstep::ui {

/// "Fastest training: DDP (2), 1.42×"; empty until something was compared. `complete`: all runs are over.
[[nodiscard]] QString fastestFinding(const core::Judgement &judgement, bool complete);
/// "Whole run 1.46×: 2.10 s saved, 0.63 s added": what the bars below add up to, launch to exit. Which causes
/// they are is said in the page's head.
[[nodiscard]] QString causeFinding(const core::PairJudgement &pair);
/// "Unintended differences: 2 decisive, 1 notable"; counts kinds of differences, not runs.
[[nodiscard]] QString fairnessFinding(const core::Judgement &judgement);
/// "Compute-bound: baseline, DP (2). Communication-bound: DDP (2)"; "All compute-bound"
[[nodiscard]] QString boundsFinding(const core::Judgement &judgement);

} // namespace lockstep::ui
