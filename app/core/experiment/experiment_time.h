// SPDX-License-Identifier: MIT
#pragma once
// An experiment's progress and remaining time. Pure functions.
#include <functional>
#include <optional>
#include <vector>

#include "experiment/experiment.h"

namespace lockstep::core {

/// What is known of the runs that have started.
struct ExperimentClock {
    std::function<std::optional<double>(int entry)> runTimeS; ///< of a finished run, launch to exit
    std::function<std::optional<double>(int entry)> fraction; ///< of a current run, 0..1
    std::function<std::optional<double>(int entry)> leftS;    ///< of a current run, at its present pace
};

/// How long each entry takes: the median of this experiment's finished runs of the same name, else the estimate from
/// earlier runs. Absent: never run here. Each finished run's time is asked for once.
[[nodiscard]] std::vector<std::optional<double>> expectedS(const Experiment &experiment, const ExperimentClock &clock);
/// Seconds until the queue is empty; absent while the length of any run is unknown.
[[nodiscard]] std::optional<double> leftS(const Experiment &experiment, const ExperimentClock &clock);
/// 0..1: share of the expected time if it is known for every run, else share of the runs.
[[nodiscard]] std::optional<double> progressOf(const Experiment &experiment, const ExperimentClock &clock);

} // namespace lockstep::core
