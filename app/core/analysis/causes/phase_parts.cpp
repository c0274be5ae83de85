// SPDX-License-Identifier: MIT
#include "analysis/causes/phase_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analysis/compare/result_table.h"
#include "ipc/sound_values.h"
#include "store/run_outcome.h"

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

bool isDdp(const RunOutcome &run) {
    const auto said = run.about.find("method");
    return said != run.about.end() ? said->second == toString(Method::Ddp)
                                   : run.config && run.config->method == Method::Ddp;
}

/// How long sums of gradients hold every rank of DDP up: the least of them. Absent where ranks report waiting
/// by itself, or not all of them report the sums.
std::optional<double> leastExposed(const RunOutcome &run) {
    if (!isDdp(run) || run.processes < 2 || int(run.rankPhasesS.size()) != run.processes)
        return std::nullopt;
    std::optional<double> least;
    for (const auto &[rank, phases] : run.rankPhasesS) {
        const auto exposed = sumOf(phases, {phase::exposed});
        if (!exposed || sumOf(phases, {phase::wait}))
            return std::nullopt;
        least = std::min(least.value_or(*exposed), *exposed);
    }
    return least;
}

/// As reported, or as it follows from the least of all ranks.
std::optional<double> waitOf(const Phases &phases, std::optional<double> least) {
    const auto exposed = sumOf(phases, {phase::exposed});
    return least && exposed ? std::optional(*exposed - *least) : sumOf(phases, {phase::wait});
}

/// Of a pipeline the stages' mean; else the middle rank's by waiting, the longer waits first.
Phases phasesOf(const RunOutcome &run, std::optional<double> least) {
    if (run.rankPhasesS.empty())
        return run.phasesS;
    if (auto mean = meanOfStages(run))
        return *std::move(mean);
    std::vector<std::pair<double, int>> waits;
    for (const auto &[rank, phases] : run.rankPhasesS)
        waits.emplace_back(-waitOf(phases, least).value_or(0), rank);
    std::ranges::sort(waits);
    return run.rankPhasesS.at(waits[(waits.size() - 1) / 2].second);
}

bool isAlone(const RunOutcome &run) {
    return run.processes <= 1 && run.rankPhasesS.size() <= 1;
}

using Part = std::optional<double> TimeParts::*;
constexpr std::array<Part, 4> knownParts = {&TimeParts::loadS, &TimeParts::computeS, &TimeParts::communicationS,
                                            &TimeParts::waitS};
constexpr std::array<double TimeParts::*, 4> wholeParts = {&TimeParts::runS, &TimeParts::trainingS,
                                                           &TimeParts::startUpS, &TimeParts::restS};

/// What one repeat does not report is in the rest of all.
void leaveToRest(std::vector<RepeatParts> &all, Part part) {
    if (std::ranges::all_of(all, [&](const RepeatParts &one) { return (one.parts.*part).has_value(); }))
        return;
    for (RepeatParts &one : all)
        one.parts.restS += std::exchange(one.parts.*part, std::nullopt).value_or(0);
}

/// The geometric mean of the run times ÷ their arithmetic mean.
double scaleOf(const std::vector<RepeatParts> &all) {
    double sum = 0, logs = 0;
    for (const RepeatParts &one : all) {
        sum += one.parts.runS;
        logs += std::log(one.parts.runS);
    }
    const double count = double(all.size());
    return std::exp(logs / count) / (sum / count);
}

} // namespace

std::optional<TimeParts> partsOf(const RunOutcome &run) {
    const std::optional<double> trained = trainedHereS(run);
    if (!run.runTimeS || !trained || *run.runTimeS <= 0 || *trained <= 0)
        return std::nullopt;
    TimeParts out;
    out.runS = *run.runTimeS;
    out.trainingS = *trained;
    out.startUpS = out.runS - out.trainingS;
    const std::optional<double> least = leastExposed(run);
    const Phases phases = phasesOf(run, least);
    out.loadS = sumOf(phases, {phase::load, phase::h2d});
    const double moved = sumOf(phases, {phase::scatter, phase::replicate, phase::gather}).value_or(0);
    if (const auto computed = sumOf(phases, {phase::forward, phase::backward, phase::optimizer}))
        out.computeS = std::max(0.0, *computed - moved);
    if (!out.loadS && !out.computeS)
        return std::nullopt;
    const auto exposed = sumOf(phases, {phase::exposed});
    const auto wait = waitOf(phases, least);
    if (exposed) {
        if (wait || isAlone(run))
            out.waitS = std::min(wait.value_or(0), *exposed);
        out.waitFollows = least.has_value();
        out.communicationS = *exposed - out.waitS.value_or(0) + moved;
    } else if (isAlone(run)) {
        out.waitS = 0;
        if (out.computeS)
            out.communicationS = moved;
    }
    out.restS = out.trainingS - out.loadS.value_or(0) - out.computeS.value_or(0) - out.communicationS.value_or(0) -
                out.waitS.value_or(0);
    if (!canBeTrainingTime(out.trainingS - out.restS, out.trainingS))
        return std::nullopt; // phases that took longer than the training are not its own
    return out;
}

std::vector<RepeatParts> partsOfRepeats(const RepeatGroup &group) {
    std::vector<RepeatParts> all;
    for (const RunOutcome &run : group.runs)
        if (const auto parts = partsOf(run))
            all.push_back({*parts, repeatOf(run, 0)});
    if (all.empty())
        return all;
    // Sums then do not depend on the repeats' order.
    std::ranges::stable_sort(all, {}, [](const RepeatParts &one) { return one.parts.runS; });
    for (const Part part : knownParts)
        leaveToRest(all, part);
    const double scale = scaleOf(all);
    for (RepeatParts &one : all) {
        for (const Part part : knownParts)
            if (one.parts.*part)
                *(one.parts.*part) *= scale;
        for (const auto part : wholeParts)
            one.parts.*part *= scale;
    }
    return all;
}

TimeParts meanOf(const std::vector<RepeatParts> &repeats) {
    TimeParts out;
    const double count = double(repeats.size());
    for (const RepeatParts &one : repeats) {
        for (const Part part : knownParts)
            if (one.parts.*part)
                out.*part = (out.*part).value_or(0) + *(one.parts.*part) / count;
        for (const auto part : wholeParts)
            out.*part += one.parts.*part / count;
    }
    return out;
}

std::optional<TimeParts> partsOf(const RepeatGroup &group) {
    const std::vector<RepeatParts> repeats = partsOfRepeats(group);
    return repeats.empty() ? std::nullopt : std::optional(meanOf(repeats));
}

double phaseOf(const RunOutcome &run, int rank, std::string_view phase) {
    const auto phases = run.rankPhasesS.find(rank);
    if (phases == run.rankPhasesS.end())
        return 0;
    const auto found = phases->second.find(phase);
    return found == phases->second.end() ? 0 : found->second;
}

std::map<int, double> waitShares(const RepeatGroup &group) {
    std::map<int, std::pair<double, int>> sums;
    for (const RunOutcome &run : group.runs)
        for (const auto &[rank, phases] : run.rankPhasesS)
            if (const auto share = additiveShare(phases, phase::wait)) {
                sums[rank].first += *share;
                ++sums[rank].second;
            }
    std::map<int, double> out;
    for (const auto &[rank, sum] : sums)
        out[rank] = sum.first / sum.second;
    return out;
}

std::optional<double> ownTime(const RunOutcome &run, int rank) {
    const auto phases = run.rankPhasesS.find(rank);
    return phases == run.rankPhasesS.end()
               ? std::nullopt
               : sumOf(phases->second, {phase::load, phase::h2d, phase::forward, phase::backward, phase::optimizer});
}

} // namespace lockstep::core
