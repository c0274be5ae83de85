#include "analysis/phase_parts.h"

#include <algorithm>

#include "analysis/result_table.h"

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

template <class Get> std::optional<double> medianPart(const std::vector<TimeParts> &all, Get get) {
    std::vector<double> values;
    for (const TimeParts &parts : all) {
        const std::optional<double> value = get(parts);
        if (!value)
            return std::nullopt;
        values.push_back(*value);
    }
    return median(std::move(values));
}

} // namespace

double TimeParts::restS() const {
    return trainingS - loadS.value_or(0) - computeS.value_or(0) - communicationS.value_or(0) - waitS.value_or(0);
}

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
    return out;
}

std::optional<TimeParts> partsOf(const Cell &cell) {
    std::vector<TimeParts> all;
    for (const RunOutcome &run : cell.runs)
        if (const auto parts = partsOf(run))
            all.push_back(*parts);
    if (all.empty())
        return std::nullopt;
    TimeParts out;
    out.runS = *medianPart(all, [](const TimeParts &p) { return std::optional(p.runS); });
    out.trainingS = *medianPart(all, [](const TimeParts &p) { return std::optional(p.trainingS); });
    out.startUpS = *medianPart(all, [](const TimeParts &p) { return std::optional(p.startUpS); });
    out.loadS = medianPart(all, [](const TimeParts &p) { return p.loadS; });
    out.computeS = medianPart(all, [](const TimeParts &p) { return p.computeS; });
    out.communicationS = medianPart(all, [](const TimeParts &p) { return p.communicationS; });
    out.waitS = medianPart(all, [](const TimeParts &p) { return p.waitS; });
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
