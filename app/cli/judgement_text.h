#pragma once
#include <string>

#include "analysis/judgement.h"
#include "shown_rows.h"

namespace lockstep::cli {

/// The sentence and its reservations.
[[nodiscard]] std::string verdictText(const core::Judgement &judgement);
/// What it rests on: intervals, what is unlike (a line a kind, with the runs), where the seconds went (a bar a cause),
/// bottlenecks and what to try. Runs without anything to say are left out, and those that are not shown, unless `all`.
[[nodiscard]] std::string judgementText(const core::Judgement &judgement, const ShownRows &shown, bool all);

} // namespace lockstep::cli
