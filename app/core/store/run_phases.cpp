// SPDX-License-Identifier: MIT
#include "store/run_phases.h"

#include <algorithm>

#include "ipc/phase_sums.h"
#include "store/run_data.h"

namespace lockstep::core {
namespace {

constexpr std::int64_t recentNs = 30'000'000'000;

/// What the rank itself made of the epoch.
PhaseTimes madeHere(const EpochFrame &epoch) {
    PhaseTimes own = epoch.phases;
    if (epoch.before)
        for (const auto &[name, time] : epoch.before->phases)
            if (const auto found = own.find(name); found != own.end())
                found->second.sumS = std::max(0.0, found->second.sumS - time.sumS);
    return own;
}

std::int64_t stepsHere(const EpochFrame &epoch) {
    return epoch.steps - (epoch.before ? epoch.before->steps : 0);
}

} // namespace

void RunPhases::OfRank::finish(const PhaseTimes &times, std::int64_t steps) {
    add(finished, times);
    finishedSteps += steps;
    current.clear();
    currentSteps = 0;
}

void RunPhases::take(int rank, const Frame &frame, const StepsFrame &body) {
    OfRank &phases = m_ranks[rank];
    if (goesBack(body, phases.reached)) {
        phases.current.clear();
        phases.currentSteps = 0;
        phases.recent.clear();
    }
    phases.reached = body.lastStep;
    if (phases.currentEpoch != body.epoch) { // an epoch without an epoch frame counts by its windows
        phases.finish(phases.current, phases.currentSteps);
        phases.currentEpoch = body.epoch;
    }
    if (body.epoch > phases.reportedEpoch) {
        addKept(phases.current, body.phases);
        phases.currentSteps += body.count;
    }
    phases.recent.push_back({frame.monoNs, body.count, additiveSum(body.phases)});
    while (phases.recent.front().monoNs <= frame.monoNs - recentNs)
        phases.recent.pop_front();
    addReplicas(body);
}

void RunPhases::addReplicas(const StepsFrame &body) {
    constexpr std::size_t mostReplicas = 256; // in one process
    for (const ReplicaTime &replica : body.replicas) {
        const auto same = std::find_if(m_replicas.begin(), m_replicas.end(),
                                       [&](const ReplicaTime &known) { return known.device == replica.device; });
        if (same == m_replicas.end()) {
            if (m_replicas.size() >= mostReplicas)
                continue;
            m_replicas.push_back({replica.device, {}});
            addKept(m_replicas.back().phases, replica.phases);
        } else
            addKept(same->phases, replica.phases);
    }
    if (!body.replicas.empty())
        m_replicaSteps += body.count;
}

void RunPhases::addKept(PhaseTimes &sum, const PhaseTimes &more) {
    const auto isKept = [&](const auto &phase) {
        return m_names.contains(phase.first) ||
               (keepsPhase(phase.first, m_names.size()) && m_names.insert(phase.first).second);
    };
    if (std::ranges::all_of(more, isKept)) // the usual case needs no copy
        return add(sum, more);
    PhaseTimes kept = more;
    std::erase_if(kept, std::not_fn(isKept));
    add(sum, kept);
}

void RunPhases::take(int rank, const EpochFrame &body) {
    OfRank &phases = m_ranks[rank];
    phases.reportedEpoch = std::max(phases.reportedEpoch, body.epoch);
    if (body.phases.empty()) {
        phases.finish(phases.current, phases.currentSteps);
    } else {
        PhaseTimes kept;
        addKept(kept, madeHere(body));
        phases.finish(kept, stepsHere(body));
    }
}

void RunPhases::forget(int rank, const EpochFrame &lost) {
    constexpr double nothingS = 1e-9; // what rounding leaves of a phase
    OfRank &phases = m_ranks[rank];
    for (const auto &[name, time] : madeHere(lost))
        if (const auto found = phases.finished.find(name); found != phases.finished.end())
            if (found->second.sumS -= time.sumS; found->second.sumS <= nothingS)
                phases.finished.erase(found);
    phases.finishedSteps = std::max<std::int64_t>(0, phases.finishedSteps - stepsHere(lost));
    phases.reportedEpoch = std::min(phases.reportedEpoch, lost.epoch - 1);
}

PhaseTimes RunPhases::of(int rank) const {
    const auto found = m_ranks.find(rank);
    if (found == m_ranks.end())
        return {};
    PhaseTimes sum = found->second.finished;
    add(sum, found->second.current);
    return sum;
}

std::int64_t RunPhases::steps(int rank) const {
    const auto found = m_ranks.find(rank);
    return found == m_ranks.end() ? 0 : found->second.finishedSteps + found->second.currentSteps;
}

double RunPhases::runningS(int rank) const {
    const auto found = m_ranks.find(rank);
    return found == m_ranks.end() ? 0 : additiveSum(found->second.current);
}

std::optional<double> RunPhases::secondsPerStep() const {
    std::optional<double> slowest;
    for (const auto &[rank, phases] : m_ranks) {
        double seconds = 0;
        std::int64_t steps = 0;
        for (const Window &window : phases.recent) {
            seconds += window.additiveS;
            steps += window.steps;
        }
        if (steps > 0 && seconds > 0)
            slowest = std::max(slowest.value_or(0), seconds / double(steps));
    }
    return slowest;
}

} // namespace lockstep::core
