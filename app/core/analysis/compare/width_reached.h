// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "analysis/compare/repeat.h"
#include "experiment/experiment.h"

namespace lockstep::core {

/// A finished run's training time, when it began and the load of other programs; absent where the time is unknown.
using TrainingTimeSource = std::function<std::optional<Repeat>(const std::string &run)>;

/// How narrow the intervals of an experiment with a goal are, by the runs that are done.
///
/// The goal counts as reached where it holds for all rounds, and held before the last two as well. Stopping at the first narrow
/// interval would choose those that chance made narrow: simulated, their coverage drops to 90 %, and stays at 93 % and more with the second
/// check (docs/design/verdict.md).
[[nodiscard]] WidthReached widthReached(const Experiment &experiment, const TrainingTimeSource &trainingTimes);

} // namespace lockstep::core
