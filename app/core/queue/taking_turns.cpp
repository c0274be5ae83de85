// SPDX-License-Identifier: MIT
#include "queue/taking_turns.h"

#include "base/format.h"
#include "ipc/run_folder.h"

namespace lockstep::core {

namespace {
/// What a run waits for goes on while it stands still, so a pause hides half of a wait. Above this share of its pauses too much of a change
/// might be hidden.
constexpr double mostPausesWaiting = 0.1;
constexpr std::int64_t leastWaiting = 3; ///< fewer may be chance
} // namespace

std::string whyNotInTurns(const Experiment &experiment) {
    if (!experiment.sideBySide.inTurns)
        return {};
    for (const ExperimentEntry &entry : experiment.entries) {
        const std::string &name = entry.planned.name;
        if (entry.state == EntryState::Failed)
            return name + " failed, and runs that take turns are there at once: they may want the same port or file";
        if (entry.state != EntryState::Done)
            continue;
        const auto result = readRunResult(runFolder(entry.run));
        if (!result || !result->turns)
            continue;
        if (result->turns->counted)
            return name + " may count its pauses as time of training: it has not said leaves_pauses_out with its state "
                          "init, as Lockstep's Python package does and lockstep-trainer doesn't";
        if (result->turns->lost)
            return name +
                   " may have run at the same time as another one: the file that says whose turn it is was removed";
        if (result->turns->pauses == 0)
            continue;
        const double share = double(result->turns->waiting) / double(result->turns->pauses);
        if (share > mostPausesWaiting && result->turns->waiting >= leastWaiting)
            return name + " waited for something outside when " + percent(share, 0).toStdString() +
                   " of its pauses began, and that goes on in a pause";
    }
    return {};
}

} // namespace lockstep::core
