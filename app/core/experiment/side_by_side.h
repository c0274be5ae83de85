// SPDX-License-Identifier: MIT
#pragma once
// Runs side by side, each on its own devices and cores. Pure functions.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/cores.h"
#include "ipc/run_config.h"

namespace lockstep::core {

constexpr int mostSideBySide = 64;

/// How many runs of an experiment may run at once, and the devices and cores to divide among them.
struct SideBySide {
    int runs = 1; ///< 1: one after the other, each on its planned devices
    CoreList cores;
    std::vector<std::string> gpus; ///< UUIDs, in CUDA's order
    /// The runs of a round take turns on the same cores instead, a tenth of a second each (trainer/agent/ranks/turns.h).
    bool inTurns = false;
    bool operator==(const SideBySide &) const = default;
};

struct RunToPlace {
    RunConfig config;
    bool alone = false; ///< no other run at the same time
    RunToPlace(RunConfig of, bool isAlone = false) : config(std::move(of)), alone(isAlone) {}
};

/// The config placed without overlap with `others`: unchanged if its devices and its loading workers' cores are
/// free, else moved to the lowest free ones. Nothing if there is no room: it waits. Without others it is
/// unchanged.
[[nodiscard]] std::optional<RunConfig> placeBeside(const RunToPlace &run, const std::vector<RunToPlace> &others,
                                                   const SideBySide &places);

/// A current or waiting run and its remaining time.
struct TimedRun {
    RunToPlace run;
    double seconds = 0;
};
struct SideBySideTime {
    double seconds = 0;
    int mostAtOnce = 0;
};
/// How long `running` and then `waiting` take. The queue starts them in order, each as soon as there is room; one that
/// has to wait holds back those after it, so that none starves.
[[nodiscard]] SideBySideTime timeSideBySide(const std::vector<TimedRun> &running, const std::vector<TimedRun> &waiting,
                                            const SideBySide &places);

} // namespace lockstep::core
