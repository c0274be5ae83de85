// SPDX-License-Identifier: MIT
#include "models/live_figures.h"

#include "ipc/median.h"
#include "ipc/phase_sums.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

std::vector<StepPhase> perStep(const PhaseTimes &phases, const std::vector<std::string_view> &names,
                               std::int64_t steps) {
    std::vector<StepPhase> out;
    for (const std::string_view name : names)
        if (const auto found = phases.find(name); found != phases.end() && steps > 0)
            out.push_back({std::string(name), found->second.sumS / double(steps)});
    return out;
}

} // namespace

std::optional<double> medianEpochS(const RunStore &run) {
    std::vector<double> durations;
    for (const MergedEpoch &epoch : run.epochs().merged())
        if (epoch.complete)
            durations.push_back(epoch.durationS);
    return median(std::move(durations));
}

std::vector<RankStep> rankSteps(const RunStore &run) {
    std::vector<RankStep> out;
    for (const auto &[rank, info] : run.ranks().all()) {
        const PhaseTimes phases = run.phases().of(rank);
        const std::int64_t steps = run.phases().steps(rank);
        out.push_back({rank, perStep(phases, additivePhases(), steps), perStep(phases, nestedPhases(), steps)});
    }
    return out;
}

} // namespace lockstep::core
