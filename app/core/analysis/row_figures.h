#pragma once
#include <vector>

#include "analysis/result_table.h"

namespace lockstep::core {

/// What the config says of a row.
void takeConfig(const RunConfig &config, ResultRow &row);
/// What a script said of itself; what it did not say stays unknown.
void takeAbout(const RunOutcome &outcome, ResultRow &row);
/// The first epoch and the median of the later ones, from row.epochs.
void takeEpochFigures(ResultRow &row);
/// Medians over the repeats that are done; of a run still going, what it has so far.
void takeOutcomes(const std::vector<const RunOutcome *> &all, ResultRow &row);

} // namespace lockstep::core
