// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "analysis/compare/judgement.h"
#include "analysis/compare/result_table.h"
#include "analysis/compare/time_to_target.h"

namespace lockstep::cli {

/// The result for a terminal: judgement, loss and duration per epoch, times, speed-up, accuracy, published figures,
/// notes. Of many runs, only the reference, the fastest and the slowest, unless `all`; it says how many are omitted.
[[nodiscard]] std::string resultText(const core::ResultTable &table, const core::Judgement &judgement,
                                     bool all = false);
/// When each configuration reached a target, and how that is known.
[[nodiscard]] std::string targetText(const core::Target &target, const std::vector<core::TimeToTarget> &times);

} // namespace lockstep::cli
