// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "analysis/compare/judgement.h"
#include "shown_rows.h"

namespace lockstep::cli {

/// The sentence and its reservations.
[[nodiscard]] std::string verdictText(const core::ResultTable &table, const core::Judgement &judgement);
/// The evidence: intervals, unintended differences (one line per kind), where the seconds went (one bar per cause),
/// bottlenecks and tips. Omits runs without findings, and hidden ones unless `all`.
[[nodiscard]] std::string judgementText(const core::Judgement &judgement, const ShownRows &shown, bool all);

} // namespace lockstep::cli
