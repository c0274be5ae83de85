// SPDX-License-Identifier: MIT
#include "analysis/compare/repeat_group.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "analysis/fairness/shared_load.h"
#include "ipc/median.h"

namespace lockstep::core {
namespace {

/// Of runs of one measurement the greatest counts. One whose log is another's has no epochs.
std::tuple<bool, std::uint64_t, std::size_t> wholeness(const RunOutcome &run) {
    return {run.state == RunState::Done && !run.agentDied, run.recorded ? run.recorded->bytes : 0, run.epochs.size()};
}

} // namespace

bool areOneMeasurement(const RunOutcome &a, const RunOutcome &b) {
    const bool recordedTwice =
        a.recorded && b.recorded && !a.recorded->begin.empty() && a.recorded->begin == b.recorded->begin;
    return recordedTwice || (!a.begin.empty() && a.begin == b.begin);
}

std::vector<const RunOutcome *> eachMeasuredOnce(const std::vector<const RunOutcome *> &runs) {
    std::vector<const RunOutcome *> out;
    for (const RunOutcome *run : runs) {
        const auto same = std::ranges::find_if(out, [&](const auto *other) { return areOneMeasurement(*run, *other); });
        if (same == out.end())
            out.push_back(run);
        else if (wholeness(*run) > wholeness(**same))
            *same = run;
    }
    return out;
}

std::vector<RepeatGroup> groupsOf(const ResultTable &table, const std::vector<RunOutcome> &outcomes) {
    std::vector<RepeatGroup> groups;
    for (const ResultRow &row : table.rows) {
        if (row.published)
            continue;
        RepeatGroup group{row.name, {}, row.reference, row.command};
        for (const RunOutcome &outcome : outcomes)
            if (outcome.state == RunState::Done && std::ranges::find(row.runs, outcome.run) != row.runs.end())
                group.runs.push_back(outcome);
        std::ranges::stable_sort(group.runs, {}, &RunOutcome::startWallUs);
        if (!group.runs.empty())
            groups.push_back(std::move(group));
    }
    return groups;
}

const RepeatGroup *findGroup(std::span<const RepeatGroup> groups, const std::string &name) {
    const auto found = std::ranges::find(groups, name, &RepeatGroup::name);
    return found == groups.end() ? nullptr : &*found;
}

std::vector<double> figuresOf(const RepeatGroup &group, const Figure &figure) {
    std::vector<double> out;
    for (const RunOutcome &run : group.runs)
        if (const auto value = figure(run))
            out.push_back(*value);
    return out;
}

std::string roundOf(const RunOutcome &run) {
    return run.experiment.empty() ? std::string() : run.experiment + " " + std::to_string(run.repeat);
}

Repeat repeatOf(const RunOutcome &run, double value, double earlierS) {
    Repeat out = {value, roundOf(run),
                  run.startWallUs > 0 ? std::optional(double(run.startWallUs) * 1e-6) : std::nullopt,
                  run.conditions.inTurns ? std::nullopt : excessCores(run), run.repeat};
    out.earlierS = earlierS;
    return out;
}

std::optional<Repeat> trainingRepeatOf(const RunOutcome &run) {
    return run.totalTrainingTimeS ? std::optional(repeatOf(run, *run.totalTrainingTimeS, run.earlierS)) : std::nullopt;
}

std::string whyOtherEpochs(const RepeatGroup &reference, const RepeatGroup &run) {
    const std::optional<int> first = commonFirstEpoch(reference.runs), other = commonFirstEpoch(run.runs);
    const auto isOwn = [](const RunOutcome &one) { return one.earlierS <= 0; };
    const bool alike = beginAlike(first, other);
    if (alike && std::ranges::all_of(reference.runs, isOwn) && std::ranges::all_of(run.runs, isOwn))
        return {};
    const auto text = [](std::optional<int> epoch) {
        return epoch ? std::to_string(*epoch) : std::string("differs by repeat");
    };
    return "First epoch made here " + text(other) +
           (alike            ? " in both"
            : first || other ? " instead of " + text(first)
                             : std::string()) +
           ": one that goes on from a checkpoint has not made all of its epochs here. Train from the first epoch to "
           "compare.";
}

std::optional<double> laterEpochS(const RunOutcome &run) {
    std::vector<double> durations;
    for (const MergedEpoch &epoch : completeEpochs(run.epochs))
        if (epoch.epoch > 1)
            durations.push_back(epoch.durationS);
    return median(std::move(durations));
}

std::string toText(const SuggestedRun &run) {
    return run.again.empty() ? run.name : "repeat " + run.name;
}

} // namespace lockstep::core
