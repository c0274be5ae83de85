// SPDX-License-Identifier: MIT
#include "ipc/phase_sums.h"

#include <algorithm>

namespace lockstep {
namespace {

double sumOf(const PhaseTime &time) {
    return time.sumS;
}
double sumOf(double seconds) {
    return seconds;
}

template <class Phases> double sumOfAdditive(const Phases &phases) {
    double sum = 0;
    for (const std::string_view name : additivePhases())
        if (const auto found = phases.find(name); found != phases.end())
            sum += sumOf(found->second);
    return sum;
}

} // namespace

const std::vector<std::string_view> &nestedPhases() {
    static const std::vector<std::string_view> phases{
        phase::wait,   phase::scatter,       phase::replicate,        phase::parallelForward,
        phase::gather, phase::lossOnDevice0, phase::parallelBackward, phase::reduce};
    return phases;
}

void add(PhaseTimes &sum, const PhaseTimes &more) {
    for (const auto &[name, time] : more) {
        PhaseTime &own = sum[name];
        own.sumS += time.sumS;
        if (time.maxS)
            own.maxS = std::max(own.maxS.value_or(0), *time.maxS);
    }
}

PhaseSeconds secondsOf(const PhaseTimes &phases) {
    PhaseSeconds out;
    for (const auto &[name, time] : phases)
        out.emplace(name, time.sumS);
    return out;
}

PhaseSeconds meanPhases(const std::vector<PhaseSeconds> &ranks) {
    PhaseSeconds out;
    for (const PhaseSeconds &rank : ranks)
        for (const auto &[name, seconds] : rank)
            out[name] += seconds / double(ranks.size());
    return out;
}

double additiveSum(const PhaseTimes &phases) {
    return sumOfAdditive(phases);
}

double additiveSum(const PhaseSeconds &phases) {
    return sumOfAdditive(phases);
}

std::optional<double> additiveShare(const PhaseSeconds &phases, std::string_view phase) {
    const double sum = additiveSum(phases);
    const auto found = phases.find(phase);
    return found == phases.end() || !(sum > 0) ? std::nullopt : std::optional(found->second / sum);
}

} // namespace lockstep
