// SPDX-License-Identifier: MIT
#include "analysis/compare/energy.h"

#include <algorithm>

#include "ipc/phases.h"
#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

bool hasGpus(const RunOutcome &run) {
    return !run.deviceNames.empty() && !run.deviceNames.front().starts_with("cpu");
}

const Energy *energyOf(const RunOutcome &run) {
    const auto &energy = run.conditions.energy;
    return energy && energy->nodes >= run.nodes ? &*energy : nullptr;
}

std::optional<double> soundJoules(std::optional<double> joules) {
    return joules && *joules > 0 ? finiteOrUnknown(joules) : std::nullopt;
}

} // namespace

std::optional<double> gpusEnergyOf(const RunOutcome &run) {
    const Energy *energy = energyOf(run);
    return energy ? soundJoules(energy->gpusJ) : std::nullopt;
}

std::optional<double> packagesEnergyOf(const RunOutcome &run) {
    const Energy *energy = energyOf(run);
    return energy ? soundJoules(energy->packagesJ) : std::nullopt;
}

std::optional<double> devicesEnergyOf(const RunOutcome &run) {
    return hasGpus(run) ? gpusEnergyOf(run) : packagesEnergyOf(run);
}

std::optional<double> devicesPowerOf(const RunOutcome &run) {
    const auto joules = devicesEnergyOf(run);
    if (!joules)
        return std::nullopt;
    const double seconds = hasGpus(run) ? run.conditions.energy->gpusS : run.conditions.energy->packagesS;
    return isTimeOfWork(seconds) ? finiteOrUnknown(*joules / seconds) : std::nullopt;
}

std::optional<double> energyPerSampleOf(const RunOutcome &run) {
    const auto joules = devicesEnergyOf(run);
    double samples = 0;
    int complete = 0;
    for (const MergedEpoch &epoch : completeEpochs(run.epochs)) {
        samples += double(epoch.samples - epoch.samplesBefore);
        ++complete;
    }
    if (run.firstEpoch - 1 + complete < int(run.epochs.size())) // the others took energy as well
        return std::nullopt;
    return joules && samples > 0 ? std::optional(*joules / samples) : std::nullopt;
}

std::string whyEnergyUnknown(const RunOutcome &run) {
    if (devicesEnergyOf(run))
        return {};
    const auto &energy = run.conditions.energy;
    if (!energy)
        return "the run's agent did not measure energy";
    if (energy->nodes < run.nodes)
        return "an older agent measured energy on " + std::to_string(energy->nodes) + " of the run's " +
               std::to_string(run.nodes) + " nodes";
    const std::string &why = hasGpus(run) ? energy->gpusUnknown : energy->packagesUnknown;
    return why.empty() ? "no energy was counted" : why;
}

std::optional<double> gpuHoursWaitingOf(const RunOutcome &run) {
    if (!hasGpus(run) || int(run.deviceNames.size()) != run.processes || int(run.rankPhasesS.size()) != run.processes)
        return std::nullopt;
    double seconds = 0;
    bool known = false;
    for (const auto &[rank, phases] : run.rankPhasesS)
        for (const std::string_view name : {phase::load, phase::exposed})
            if (const auto found = phases.find(name); found != phases.end()) {
                seconds += found->second;
                known = true;
            }
    return known ? std::optional(seconds / 3600) : std::nullopt;
}

} // namespace lockstep::core
