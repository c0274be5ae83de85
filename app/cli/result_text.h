#pragma once
#include <string>
#include <vector>

#include "analysis/judgement.h"
#include "analysis/result_table.h"
#include "analysis/time_to_target.h"

namespace lockstep::cli {

/// The result as a terminal shows it: what was judged of it, loss and duration per epoch, times, speed-up, accuracy, published
/// figures, notes. Of many runs the reference, the fastest and the slowest, unless `all`; what was left out is said.
[[nodiscard]] std::string resultText(const core::ResultTable &table, const core::Judgement &judgement,
                                     bool all = false);
/// When each cell reached a target, and how that is known.
[[nodiscard]] std::string targetText(const core::Target &target, const std::vector<core::TimeToTarget> &cells);

} // namespace lockstep::cli
