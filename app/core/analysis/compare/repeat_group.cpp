// SPDX-License-Identifier: MIT
#include "analysis/compare/repeat_group.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "analysis/fairness/shared_load.h"
#include "ipc/median.h"

namespace lockstep::core {
namespace {

using Runs = std::vector<const RunOutcome *>;

/// Files that are still written to may have been recorded early, and again later.
bool areRecordedTwice(const RunOutcome &a, const RunOutcome &b) {
    return a.recorded && b.recorded && !a.recorded->begin.empty() && a.recorded->begin == b.recorded->begin;
}

/// Of runs of one measurement the greatest counts. One whose log is another's has no epochs.
const RunOutcome *wholest(const Runs &same) {
    const bool recorded =
        std::ranges::all_of(same, [&](const RunOutcome *run) { return areRecordedTwice(*same.front(), *run); });
    const auto wholeness = [&](const RunOutcome *run) {
        return std::tuple(run->state == RunState::Done && !run->agentDied,
                          recorded || run->totalTrainingTimeS.has_value(), !run->lacksLines,
                          std::ranges::count_if(run->epochs, &MergedEpoch::complete),
                          run->recorded ? run->recorded->bytes : std::uint64_t(0), run->epochs.size());
    };
    return *std::ranges::max_element(same, {}, wholeness);
}

/// Sums may have been added up in another order.
bool areAlike(std::optional<double> a, std::optional<double> b) {
    constexpr double rounding = 1e-6;
    return !a || !b || *a == *b || (std::isnan(*a) && std::isnan(*b)) ||
           std::fabs(*a - *b) <= rounding * std::max(std::fabs(*a), std::fabs(*b));
}

/// By what both have.
bool areAlike(const MetricValues &a, const MetricValues &b) {
    return std::ranges::all_of(a, [&](const auto &metric) {
        const auto other = b.find(metric.first);
        return other == b.end() || areAlike(std::optional(metric.second), std::optional(other->second));
    });
}

bool areAlike(const std::vector<double> &a, const std::vector<double> &b) {
    return a.empty() || b.empty() || std::ranges::equal(a, b, [](double one, double other) {
               return areAlike(std::optional(one), std::optional(other));
           });
}

/// The test after an epoch; of several the last one stands.
bool areAlike(const std::optional<EvalFrame> &a, const std::optional<EvalFrame> &b) {
    return !a || !b ||
           (areAlike(std::optional(a->accuracy), std::optional(b->accuracy)) && areAlike(a->loss, b->loss) &&
            a->samples == b->samples);
}

/// What the same ranks report of it. A copy may lack some of them, or some windows, whose losses are then of fewer samples.
bool areAlike(const MergedEpoch &a, const MergedEpoch &b) {
    std::size_t common = 0;
    for (const auto &[rank, durationS] : a.rankDurationS)
        if (const auto other = b.rankDurationS.find(rank); other != b.rankDurationS.end()) {
            if (durationS != other->second)
                return false;
            ++common;
        }
    const auto [fewer, more] = std::minmax({a.rankDurationS.size(), b.rankDurationS.size()});
    if (common < more)
        return common == fewer;
    return a.samples == b.samples && (a.lossSamples != b.lossSamples || areAlike(a.loss, b.loss));
}

/// What two report that are done. A log that lacks lines has tests and metrics of a part.
bool haveAlikeResults(const RunOutcome &one, const RunOutcome &other) {
    if (!areAlike(one.totalTrainingTimeS, other.totalTrainingTimeS))
        return false;
    if (one.state != RunState::Done || other.state != RunState::Done)
        return true;
    if (!areAlike(one.runTimeS, other.runTimeS))
        return false;
    if (one.lacksLines || other.lacksLines)
        return true;
    for (std::size_t i = 0; i < std::min(one.epochs.size(), other.epochs.size()); ++i)
        if (!areAlike(one.epochs[i].eval, other.epochs[i].eval) ||
            !areAlike(one.epochs[i].metrics, other.epochs[i].metrics))
            return false;
    return areAlike(one.testAccuracy, other.testAccuracy) && areAlike(one.finalLoss, other.finalLoss) &&
           areAlike(one.perClassAccuracy, other.perClassAccuracy) && areAlike(one.metrics, other.metrics);
}

/// Whether one may be a copy of the other, or go on where it ended.
bool mayStandFor(const RunOutcome &one, const RunOutcome &other) {
    for (std::size_t i = 0; i < std::min(one.epochs.size(), other.epochs.size()); ++i)
        if (!areAlike(one.epochs[i], other.epochs[i]))
            return false;
    return areRecordedTwice(one, other) || haveAlikeResults(one, other);
}

std::string disputeInWords(const RunOutcome &one, const RunOutcome &other, std::size_t further) {
    return "runs " + one.run + " and " + other.run +
           " begin as one measurement, but report different epochs, times, tests or metrics: neither counts" +
           (further > 0 ? ", nor do " + std::to_string(further) + " more that begin so," : "") +
           " until the wrong one is moved away";
}

/// Those of one measurement together, where the first of them stood.
std::vector<Runs> measurementsOf(const Runs &runs) {
    std::vector<Runs> out;
    for (const RunOutcome *run : runs) {
        const auto isSame = [&](const RunOutcome *other) { return areOneMeasurement(*run, *other); };
        const auto same = std::ranges::find_if(out, [&](const Runs &one) { return std::ranges::any_of(one, isSame); });
        if (same == out.end())
            out.push_back({run});
        else
            same->push_back(run);
    }
    return out;
}

} // namespace

bool areOneMeasurement(const RunOutcome &a, const RunOutcome &b) {
    return areRecordedTwice(a, b) || (!a.begin.empty() && a.begin == b.begin);
}

MeasuredOnce eachMeasuredOnce(const std::vector<const RunOutcome *> &runs) {
    MeasuredOnce out;
    for (const Runs &same : measurementsOf(runs)) {
        const RunOutcome *whole = wholest(same);
        const auto other =
            std::ranges::find_if(same, [&](const auto *run) { return run != whole && !mayStandFor(*whole, *run); });
        if (other == same.end()) {
            out.counted.push_back(whole);
            continue;
        }
        out.disputed.insert(out.disputed.end(), same.begin(), same.end());
        out.disputes.push_back(disputeInWords(*whole, **other, same.size() - 2));
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
        keepThoseThatTrained(group.runs);
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
    const auto text = [](std::optional<int> epoch, const RepeatGroup &group) {
        if (epoch)
            return std::to_string(*epoch);
        const int one = group.runs.front().firstEpoch;
        const bool isPart = std::ranges::all_of(
            group.runs, [one](const RunOutcome &made) { return made.amidEpoch && made.firstEpoch == one; });
        return isPart ? "a part of " + std::to_string(one) : std::string("differs by repeat");
    };
    const std::string begun = text(first, reference), otherBegun = text(other, run);
    return "First epoch made here " + otherBegun +
           (alike                 ? " in both"
            : begun != otherBegun ? " instead of " + begun
                                  : std::string()) +
           ": one that goes on from a checkpoint has not made all of its epochs here. Train from the first epoch to "
           "compare.";
}

std::optional<double> laterEpochS(const RunOutcome &run) {
    std::vector<double> durations;
    for (const MergedEpoch &epoch : completeEpochs(run.epochs))
        if (epoch.epoch > 1 && !epoch.part)
            durations.push_back(epoch.durationS);
    return median(std::move(durations));
}

std::string toText(const SuggestedRun &run) {
    return run.again.empty() ? run.name : "repeat " + run.name;
}

} // namespace lockstep::core
