// SPDX-License-Identifier: MIT
#include "analysis/compare/repeat_group.h"

#include <algorithm>

#include "analysis/fairness/shared_load.h"
#include "ipc/median.h"

namespace lockstep::core {

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

const RepeatGroup *findGroup(const std::vector<RepeatGroup> &groups, const std::string &name) {
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

Repeat repeatOf(const RunOutcome &run, double value) {
    return {value, roundOf(run), run.startWallUs > 0 ? std::optional(double(run.startWallUs) * 1e-6) : std::nullopt,
            excessCores(run), run.repeat};
}

std::optional<double> laterEpochS(const RunOutcome &run) {
    std::vector<double> durations;
    for (const MergedEpoch &epoch : run.epochs)
        if (epoch.complete && epoch.epoch > 1)
            durations.push_back(epoch.durationS);
    return median(std::move(durations));
}

std::string toText(const SuggestedRun &run) {
    return run.again.empty() ? run.name : "repeat " + run.name;
}

} // namespace lockstep::core
