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

std::optional<double> loadingOf(const Phases &phases) {
    return sumOf(phases, {phase::load, phase::h2d});
}

std::optional<double> computingOf(const Phases &phases) {
    return sumOf(phases, {phase::forward, phase::backward, phase::optimizer});
}

bool isDdp(const RunOutcome &run) {
    if (run.config && run.claims.knows("method"))
        return run.config->method == Method::Ddp;
    const auto said = run.about.find("method");
    return said != run.about.end() && said->second == toString(Method::Ddp);
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

/// How much earlier than the last rank each one has ended its epochs, in all. Of an epoch that was made in part, not every rank's part is known.
std::map<int, double> idleAtEnds(const RunOutcome &run) {
    std::map<int, double> idle;
    for (const MergedEpoch &epoch : completeEpochs(run.epochs))
        if (!(epoch.beforeS > 0))
            for (const auto &[rank, seconds] : epoch.rankDurationS)
                idle[rank] += std::max(0.0, epoch.durationS - seconds);
    return idle;
}

/// The middle of the ranks by waiting, of two the one that waits more.
int middleRank(const RunOutcome &run, const std::map<int, double> &waits) {
    std::vector<std::pair<double, int>> longestFirst;
    for (const auto &[rank, phases] : run.rankPhasesS) {
        const auto wait = waits.find(rank);
        longestFirst.emplace_back(wait == waits.end() ? 0 : -wait->second, rank);
    }
    std::ranges::sort(longestFirst);
    return longestFirst[(longestFirst.size() - 1) / 2].second;
}

/// What stands for all ranks.
struct TakenPhases {
    Phases phases;
    std::optional<double> idleS; ///< at the ends of epochs
};

/// How long each rank waits for others, `idle` at the ends of epochs included; without ranks that do not report it.
std::map<int, double> rankWaits(const RunOutcome &run, const std::map<int, double> &idle) {
    const std::optional<double> least = leastExposed(run);
    std::map<int, double> out;
    for (const auto &[rank, phases] : run.rankPhasesS) {
        const auto wait = waitOf(phases, least);
        const auto own = idle.find(rank);
        if (wait || own != idle.end())
            out[rank] = wait.value_or(0) + (own == idle.end() ? 0 : own->second);
    }
    return out;
}

/// Of a pipeline the stages' mean; else the middle rank's by waiting.
TakenPhases takenPhases(const RunOutcome &run) {
    if (run.rankPhasesS.empty())
        return {run.phasesS, {}};
    if (run.rankPhasesS.size() == 1)
        return {run.rankPhasesS.begin()->second, {}};
    if (auto mean = meanOfStages(run))
        return {*std::move(mean), {}};
    const std::map<int, double> idle = idleAtEnds(run);
    const int middle = middleRank(run, rankWaits(run, idle));
    const auto own = idle.find(middle);
    return {run.rankPhasesS.at(middle), own == idle.end() ? std::nullopt : std::optional(own->second)};
}

/// Where waiting can't be told from the sums of gradients, it is counted with them.
void addIdle(double idleS, TimeParts &out) {
    std::optional<double> &part = !out.waitS && out.communicationS ? out.communicationS : out.waitS;
    part = part.value_or(0) + idleS;
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

std::optional<int> waitedFor(const RunOutcome &run) {
    constexpr double muchLess = 0.5;
    const std::map<int, double> waits = rankWaits(run, idleAtEnds(run));
    if (waits.size() < 2 || waits.size() != run.rankPhasesS.size())
        return std::nullopt;
    const auto least = std::ranges::min_element(waits, {}, [](const auto &wait) { return wait.second; });
    return least->second < muchLess * waits.at(middleRank(run, waits)) ? std::optional(least->first) : std::nullopt;
}

std::string whyNoParts(const RunOutcome &run) {
    if (partsOf(run))
        return {};
    if (const Phases phases = takenPhases(run).phases; !loadingOf(phases) && !computingOf(phases))
        return "it reported no phases of its steps";
    if (!trainedHereS(run))
        return "how long it trained is unknown";
    if (!run.runTimeS)
        return "how long it ran is unknown";
    return "its phases do not fit the time for which it trained";
}

std::optional<TimeParts> partsOf(const RunOutcome &run) {
    const std::optional<double> trained = trainedHereS(run);
    if (!run.runTimeS || !trained || *run.runTimeS <= 0 || *trained <= 0)
        return std::nullopt;
    TimeParts out;
    out.runS = *run.runTimeS;
    out.trainingS = *trained;
    out.startUpS = out.runS - out.trainingS;
    const std::optional<double> least = leastExposed(run);
    const auto [phases, idleS] = takenPhases(run);
    out.loadS = loadingOf(phases);
    const double moved = sumOf(phases, {phase::scatter, phase::replicate, phase::gather}).value_or(0);
    if (const auto computed = computingOf(phases))
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
    if (idleS)
        addIdle(*idleS, out);
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
