// SPDX-License-Identifier: MIT
#include "analysis/causes/phase_parts.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "analysis/compare/result_table.h"
#include "ipc/median.h"

namespace lockstep::core {
namespace {

using Phases = std::map<std::string, double, std::less<>>;

std::optional<double> sumOf(const Phases &phases, std::initializer_list<std::string_view> names) {
    std::optional<double> sum;
    for (const std::string_view name : names)
        if (const auto found = phases.find(name); found != phases.end())
            sum = sum.value_or(0) + found->second;
    return sum;
}

/// The middle rank by waiting, the longer waits first.
const Phases &middleRank(const RunOutcome &run) {
    if (run.rankPhasesS.empty())
        return run.phasesS;
    std::vector<std::pair<double, int>> waits;
    for (const auto &[rank, phases] : run.rankPhasesS)
        waits.emplace_back(-sumOf(phases, {phase::wait}).value_or(0), rank);
    std::ranges::sort(waits);
    return run.rankPhasesS.at(waits[(waits.size() - 1) / 2].second);
}

bool isAlone(const RunOutcome &run) {
    return run.processes <= 1 && run.rankPhasesS.size() <= 1;
}

/// A part of all repeats: its median, and how far it scatters.
struct PhasePart {
    std::optional<double> median;
    double variance = 0;
};

template <class Get> PhasePart partOf(const std::vector<TimeParts> &all, Get get) {
    std::vector<double> values;
    for (const TimeParts &parts : all) {
        const std::optional<double> value = get(parts);
        if (!value)
            return {};
        values.push_back(*value);
    }
    std::ranges::sort(values); // sums then do not depend on the repeats' order
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    return {median(std::move(values)), squares};
}

/// What one repeat does not tell is the rest of all.
void leaveToRest(std::vector<TimeParts> &all, std::optional<double> TimeParts::*part) {
    if (std::ranges::all_of(all, [&](const TimeParts &one) { return (one.*part).has_value(); }))
        return;
    for (TimeParts &one : all)
        one.restS += std::exchange(one.*part, std::nullopt).value_or(0);
}

/// Makes the parts add up to `whole`, each moved in proportion to its variance.
void reconcile(std::array<PhasePart, 6> &parts, double whole) {
    double sum = 0, variance = 0;
    for (const PhasePart &part : parts) {
        sum += part.median.value_or(0);
        variance += part.median ? part.variance : 0;
    }
    for (PhasePart &part : parts)
        if (part.median && variance > 0)
            *part.median += (whole - sum) * part.variance / variance;
}

} // namespace

std::optional<TimeParts> partsOf(const RunOutcome &run) {
    if (!run.runTimeS || !run.totalTrainingTimeS || *run.runTimeS <= 0 || *run.totalTrainingTimeS <= 0)
        return std::nullopt;
    TimeParts out;
    out.runS = *run.runTimeS;
    out.trainingS = *run.totalTrainingTimeS;
    out.startUpS = out.runS - out.trainingS;
    const Phases &phases = middleRank(run);
    out.loadS = sumOf(phases, {phase::load, phase::h2d});
    const double moved = sumOf(phases, {phase::scatter, phase::replicate, phase::gather}).value_or(0);
    if (const auto computed = sumOf(phases, {phase::forward, phase::backward, phase::optimizer}))
        out.computeS = std::max(0.0, *computed - moved);
    if (!out.loadS && !out.computeS)
        return std::nullopt;
    const auto exposed = sumOf(phases, {phase::exposed});
    const auto wait = sumOf(phases, {phase::wait});
    if (exposed) {
        if (wait || isAlone(run))
            out.waitS = std::min(wait.value_or(0), *exposed);
        out.communicationS = *exposed - out.waitS.value_or(0) + moved;
    } else if (isAlone(run)) {
        out.waitS = 0;
        if (out.computeS)
            out.communicationS = moved;
    }
    out.restS = out.trainingS - out.loadS.value_or(0) - out.computeS.value_or(0) - out.communicationS.value_or(0) -
                out.waitS.value_or(0);
    return out;
}

std::optional<TimeParts> partsOf(const Cell &cell) {
    std::vector<TimeParts> all;
    for (const RunOutcome &run : cell.runs)
        if (const auto parts = partsOf(run))
            all.push_back(*parts);
    if (all.empty())
        return std::nullopt;
    for (const auto part : {&TimeParts::loadS, &TimeParts::computeS, &TimeParts::communicationS, &TimeParts::waitS})
        leaveToRest(all, part);
    std::array<PhasePart, 6> parts = {partOf(all, [](const TimeParts &p) { return p.loadS; }),
                                      partOf(all, [](const TimeParts &p) { return p.computeS; }),
                                      partOf(all, [](const TimeParts &p) { return p.communicationS; }),
                                      partOf(all, [](const TimeParts &p) { return p.waitS; }),
                                      partOf(all, [](const TimeParts &p) { return std::optional(p.startUpS); }),
                                      partOf(all, [](const TimeParts &p) { return std::optional(p.restS); })};
    TimeParts out;
    out.runS = *partOf(all, [](const TimeParts &p) { return std::optional(p.runS); }).median;
    reconcile(parts, out.runS);
    out.loadS = parts[0].median;
    out.computeS = parts[1].median;
    out.communicationS = parts[2].median;
    out.waitS = parts[3].median;
    out.startUpS = *parts[4].median;
    out.restS = *parts[5].median;
    out.trainingS = out.runS - out.startUpS;
    return out;
}

double phaseOf(const RunOutcome &run, int rank, std::string_view phase) {
    const auto phases = run.rankPhasesS.find(rank);
    if (phases == run.rankPhasesS.end())
        return 0;
    const auto found = phases->second.find(phase);
    return found == phases->second.end() ? 0 : found->second;
}

std::optional<double> ownTime(const RunOutcome &run, int rank) {
    const auto phases = run.rankPhasesS.find(rank);
    return phases == run.rankPhasesS.end()
               ? std::nullopt
               : sumOf(phases->second, {phase::load, phase::h2d, phase::forward, phase::backward, phase::optimizer});
}

} // namespace lockstep::core
