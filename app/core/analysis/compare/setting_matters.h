// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "analysis/compare/judgement.h"

namespace lockstep::core {

/// Whether a setting matters, in a sentence, of runs that differ in it alone: the value that is told apart and fastest; or that all are
/// equal to the reference within what equality means; or that it can't be told. `setting`: its name for people. Empty where no run
/// of as much work as the reference has an interval.
[[nodiscard]] std::string whetherItMatters(const std::string &setting, const std::vector<PairJudgement> &pairs);

} // namespace lockstep::core
