#pragma once
// How far an experiment is and how long it will still take. Pure functions.
#include <functional>
#include <optional>

#include "launch/experiment.h"

namespace lockstep::core {

/// What is known of the runs that have begun.
struct ExperimentClock {
    std::function<std::optional<double>(int entry)> runTimeS; ///< of a run that is done, launch to exit
    std::function<std::optional<double>(int entry)> fraction; ///< of a run that goes on, 0..1
    std::function<std::optional<double>(int entry)> leftS;    ///< likewise, at its present pace
};

/// How long an entry takes: the median of this experiment's own done runs of the same name (they are of this hour), else
/// the estimate from earlier runs. Absent: never run here.
[[nodiscard]] std::optional<double> expectedS(const Experiment &experiment, int entry, const ExperimentClock &clock);
/// Seconds until the queue is empty; absent as long as one of the runs is of unknown length.
[[nodiscard]] std::optional<double> leftS(const Experiment &experiment, const ExperimentClock &clock);
/// 0..1: of the expected time where that is known of every run, else of the runs.
[[nodiscard]] std::optional<double> progressOf(const Experiment &experiment, const ExperimentClock &clock);

} // namespace lockstep::core
