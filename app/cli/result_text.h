#pragma once
#include <string>
#include <vector>

#include "analysis/judgement.h"
#include "analysis/result_table.h"
#include "analysis/time_to_target.h"

namespace lockstep::cli {

/// The result as a terminal shows it: loss and duration per epoch, times, speed-up, accuracy, published figures,
/// what was judged of it, notes.
[[nodiscard]] std::string resultText(const core::ResultTable &table, const core::Judgement &judgement);
/// When each cell reached a target, and how that is known.
[[nodiscard]] std::string targetText(const core::Target &target, const std::vector<core::TimeToTarget> &cells);

} // namespace lockstep::cli
