#pragma once
// Runs that go side by side, each on devices and cores that no other one has. Pure functions.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/cores.h"
#include "ipc/run_config.h"

namespace lockstep::core {

constexpr int mostSideBySide = 64;

/// How many runs of an experiment may go at once, and what they share out among them.
struct SideBySide {
    int runs = 1; ///< 1: one after the other, each on the devices that it names
    CoreList cores;
    std::vector<std::string> gpus; ///< UUIDs, in CUDA's order
    bool operator==(const SideBySide &) const = default;
};

struct RunToPlace {
    RunConfig config;
    bool alone = false; ///< nothing goes beside it
    RunToPlace(RunConfig of, bool isAlone = false) : config(std::move(of)), alone(isAlone) {}
};

/// The config for a place that none of `others` touches: as it stands when its devices and its loading workers' cores are
/// free, else moved to the lowest free ones. Nothing where there is no room: it waits. Where there are no others it runs as it
/// stands.
[[nodiscard]] std::optional<RunConfig> placeBeside(const RunToPlace &run, const std::vector<RunToPlace> &others,
                                                   const SideBySide &places);

/// A run that goes on or waits, and how long it will still take.
struct TimedRun {
    RunToPlace run;
    double seconds = 0;
};
struct SideBySideTime {
    double seconds = 0;
    int mostAtOnce = 0;
};
/// How long `running` and then `waiting` take, as the queue starts them: in order, each as soon as there is room; one that has
/// to wait holds back those after it, so that none is passed over for good.
[[nodiscard]] SideBySideTime timeSideBySide(const std::vector<TimedRun> &running, const std::vector<TimedRun> &waiting,
                                            const SideBySide &places);

} // namespace lockstep::core
