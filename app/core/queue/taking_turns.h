// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "experiment/experiment.h"

namespace lockstep::core {

/// Why the runs of an experiment that take turns (SideBySide::inTurns) have to run one after another instead, in a clause; empty: nothing
/// speaks for that so far. Runs that are over are read from this machine's disk.
[[nodiscard]] std::string whyNotInTurns(const Experiment &experiment);

} // namespace lockstep::core
