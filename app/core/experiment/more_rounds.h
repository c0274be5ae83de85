// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "experiment/document_room.h"
#include "experiment/experiment.h"
#include "experiment/experiment_time.h"
#include "ipc/error.h"

namespace lockstep::core {

/// Whole rounds that one request may add.
inline constexpr int mostRoundsAdded = 100;

/// How many rounds of repeats it has, waiting ones included.
[[nodiscard]] int roundsOf(const Experiment &experiment);
/// Whether it has more than one run that can run here.
[[nodiscard]] bool hasComparison(const Experiment &experiment);
/// Adds whole rounds at the queue's end: each run once more a round, in balanced order (round_order.h). A run that can't run
/// here, or of which every repeat was skipped, is left out. Errors: not 1 to mostRoundsAdded, no run left, no room in the document
/// where `room` counts what it takes. After an error the queue is as it was.
[[nodiscard]] Result<void> addRounds(Experiment &experiment, int rounds, DocumentRoom *room = nullptr);
/// One more round of all runs, launch to exit, side by side if they go so; absent while the length of any run is unknown.
[[nodiscard]] std::optional<double> roundS(const Experiment &experiment, const ExperimentClock &clock);

} // namespace lockstep::core
