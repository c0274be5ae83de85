// Where a run's time goes and how much of it is left.
#include <algorithm>

#include "store/phase_sums.h"
#include "store/run_store.h"

namespace lockstep::core {

void add(PhaseTimes &sum, const PhaseTimes &more) {
    for (const auto &[name, time] : more) {
        PhaseTime &own = sum[name];
        own.sumS += time.sumS;
        if (time.maxS)
            own.maxS = std::max(own.maxS.value_or(0), *time.maxS);
    }
}

double additiveSum(const PhaseTimes &phases) {
    double sum = 0;
    for (const std::string_view name : additivePhases())
        if (const auto found = phases.find(name); found != phases.end())
            sum += found->second.sumS;
    return sum;
}

PhaseTimes RunStore::phases(int rank) const {
    const auto found = m_phases.find(rank);
    if (found == m_phases.end())
        return {};
    PhaseTimes sum = found->second.finished;
    add(sum, found->second.current);
    return sum;
}

std::int64_t RunStore::phaseSteps(int rank) const {
    const auto found = m_phases.find(rank);
    return found == m_phases.end() ? 0 : found->second.finishedSteps + found->second.currentSteps;
}

PhaseTimes RunStore::recentPhases(int rank, double seconds) const {
    const auto found = m_phases.find(rank);
    if (found == m_phases.end() || found->second.recent.empty())
        return {};
    const auto &recent = found->second.recent;
    const auto from = recent.back().monoNs - std::int64_t(std::min(seconds, 60.0) * 1e9);
    PhaseTimes sum;
    for (const PhaseWindow &window : recent)
        if (window.monoNs > from)
            add(sum, window.phases);
    return sum;
}

std::int64_t RunStore::recentSteps(int rank, double seconds) const {
    const auto found = m_phases.find(rank);
    std::int64_t steps = 0;
    if (found == m_phases.end() || found->second.recent.empty())
        return steps;
    const auto from = found->second.recent.back().monoNs - std::int64_t(std::min(seconds, 60.0) * 1e9);
    for (const PhaseWindow &window : found->second.recent)
        if (window.monoNs > from)
            steps += window.steps;
    return steps;
}

std::optional<double> RunStore::secondsPerStep() const {
    std::optional<double> slowest;
    for (const auto &[rank, phases] : m_phases) {
        double seconds = 0;
        std::int64_t steps = 0;
        for (const PhaseWindow &window : phases.recent)
            if (window.monoNs > phases.recent.back().monoNs - recentNs / 2) {
                seconds += window.additiveS;
                steps += window.steps;
            }
        if (steps > 0 && seconds > 0)
            slowest = std::max(slowest.value_or(0), seconds / double(steps));
    }
    return slowest;
}

Progress RunStore::progress() const {
    Progress progress;
    progress.totalSteps = m_totalSteps;
    progress.epochs = m_epochsTotal;
    if (!progress.epochs && m_record && m_record->config)
        progress.epochs = m_record->config->epochs;
    int reported = 0;
    std::int64_t done = INT64_MAX;
    for (const auto &[rank, info] : m_ranks)
        if (info.lastStep) {
            ++reported;
            done = std::min(done, *info.lastStep + 1);
        }
    if (reported > 0)
        progress.doneSteps = reported >= worldSize() ? done : 0;
    if (!m_epochs.empty())
        progress.epoch = int(m_epochs.size());
    if (state() == RunState::Done) {
        progress.fraction = 1.0;
        progress.leftS = 0.0;
        return progress;
    }
    if (!progress.totalSteps || *progress.totalSteps <= 0 || !progress.doneSteps)
        return progress;
    progress.fraction = std::clamp(double(*progress.doneSteps) / double(*progress.totalSteps), 0.0, 1.0);
    const std::optional<double> perStep = secondsPerStep();
    if (!perStep || over())
        return progress;
    double evals = 0;
    int evalCount = 0;
    for (const MergedEpoch &epoch : m_epochs)
        if (epoch.eval) {
            evals += epoch.eval->durationS;
            ++evalCount;
        }
    const double evalS = evalCount > 0 ? evals / evalCount : 0;
    progress.leftS = double(*progress.totalSteps - *progress.doneSteps) * *perStep +
                     evalS * std::max(0, progress.epochs.value_or(0) - evalCount);
    return progress;
}

} // namespace lockstep::core
