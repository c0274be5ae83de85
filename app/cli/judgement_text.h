#pragma once
#include <string>

#include "analysis/judgement.h"

namespace lockstep::cli {

/// A judgement as a terminal shows it: the sentence, its reservations, intervals, what is unlike, where the seconds went (a
/// bar a cause), bottlenecks and what to try. Runs without anything to say are left out.
[[nodiscard]] std::string judgementText(const core::Judgement &judgement);

} // namespace lockstep::cli
