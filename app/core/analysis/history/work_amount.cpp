// SPDX-License-Identifier: MIT
#include "analysis/history/work_amount.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <utility>

#include "ipc/thousands.h"

namespace lockstep::core {
namespace {

struct WorkUnit {
    std::optional<double> WorkAmount::*count;
    const char *name;
};
/// The one that says most comes first.
constexpr std::array<WorkUnit, 3> workUnits = {
    {{&WorkAmount::samples, "sample"}, {&WorkAmount::steps, "step"}, {&WorkAmount::epochs, "epoch"}}};

/// By which the two can be compared; null: none.
const WorkUnit *commonUnit(const WorkAmount &a, const WorkAmount &b) {
    const auto found =
        std::ranges::find_if(workUnits, [&](const WorkUnit &unit) { return a.*unit.count && b.*unit.count; });
    return found == workUnits.end() ? nullptr : &*found;
}

bool areUnlike(const WorkAmount &a, const WorkAmount &b) {
    const WorkUnit *unit = commonUnit(a, b);
    return unit && shareApart(*(a.*unit->count), *(b.*unit->count)) >= noRepeatsFrom;
}

std::string countText(double count) {
    return thousands(std::llround(std::min(count, 9e18)));
}

std::string unitText(const WorkUnit &unit, double count) {
    return countText(count) + " " + unit.name + (count == 1 ? "" : "s");
}

std::optional<double> aboveZero(double count) {
    return count > 0 ? std::optional(count) : std::nullopt;
}

/// Of an epoch; those of a script that does not report them are 0.
double known(std::int64_t samples) {
    return samples > 0 ? double(samples) : NAN;
}

bool isOwn(const RunOutcome &run, const EpochSummary &epoch) {
    return epoch.epoch >= run.firstEpoch; // those before it were made before a checkpoint
}

/// Whether its log does not have all epochs that its summary counts: it was cut off, or is not here.
bool lacksLoggedEpochs(const RunOutcome &run) {
    const auto own =
        std::ranges::count_if(run.summedEpochs, [&](const EpochSummary &epoch) { return isOwn(run, epoch); });
    return std::ranges::distance(completeEpochs(run.epochs, run.firstEpoch - 1)) < own;
}

} // namespace

double shareApart(double a, double b) {
    return std::fabs(a - b) / std::max(a, b);
}

std::optional<double> samplesSeen(const RunOutcome &run) {
    double sum = 0;
    const bool ofAll = run.earlierS > 0; // as its training time is
    if (ofAll || lacksLoggedEpochs(run))
        for (const EpochSummary &epoch : run.summedEpochs)
            sum += ofAll || isOwn(run, epoch) ? known(epoch.samples) : 0;
    else
        for (const MergedEpoch &epoch : run.epochs | std::views::drop(run.firstEpoch - 1))
            sum += epoch.complete ? known(epoch.samples) : NAN;
    return aboveZero(sum);
}

std::optional<double> stepsMade(const RunOutcome &run) {
    const std::int64_t summed = run.firstEpoch == 1 && !run.amidEpoch ? run.summedSteps : 0;
    return aboveZero(double(lacksLoggedEpochs(run) ? summed : run.steps.value_or(0)));
}

std::optional<double> epochsMade(const RunOutcome &run) {
    std::optional<double> last;
    for (const MergedEpoch &epoch : run.epochs)
        if (epoch.complete || epoch.ranksReported > 0)
            last = epoch.epoch;
    for (const EpochSummary &epoch : run.summedEpochs)
        last = std::max(last.value_or(0), double(epoch.epoch));
    return last && run.earlierS <= 0 ? std::optional(*last - (run.firstEpoch - 1)) : last;
}

WorkAmount amountOf(const RunOutcome &run) {
    if (run.state != RunState::Done || run.agentDied)
        return {};
    return {samplesSeen(run), stepsMade(run), epochsMade(run)};
}

WorkAmount amountOf(const IndexedRun &run) {
    if (run.state != toString(RunState::Done))
        return {};
    return {run.samples, run.steps, aboveZero(run.epochs)};
}

void fillIn(WorkAmount &amount, const WorkAmount &other) {
    for (const WorkUnit &unit : workUnits)
        if (!(amount.*unit.count))
            amount.*unit.count = other.*unit.count;
}

std::string toText(const WorkAmount &amount) {
    const WorkUnit *unit = commonUnit(amount, amount);
    return unit ? unitText(*unit, *(amount.*unit->count)) : std::string();
}

std::string unlikeAmounts(const WorkAmount &reference, const WorkAmount &run) {
    if (!areUnlike(reference, run))
        return {};
    const WorkUnit &unit = *commonUnit(reference, run);
    return unitText(unit, *(run.*unit.count)) + " instead of " + countText(*(reference.*unit.count));
}

std::vector<std::vector<std::size_t>> byAmount(const std::vector<WorkAmount> &amounts) {
    std::vector<std::vector<std::size_t>> groups;
    std::vector<WorkAmount> known; // of each group
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        if (amounts[i] == WorkAmount()) {
            unknown.push_back(i);
            continue;
        }
        const auto same =
            std::ranges::find_if(known, [&](const WorkAmount &one) { return !areUnlike(one, amounts[i]); });
        if (same == known.end()) {
            groups.push_back({i});
            known.push_back(amounts[i]);
        } else {
            groups[std::size_t(same - known.begin())].push_back(i);
            fillIn(*same, amounts[i]);
        }
    }
    if (groups.size() == 1) {
        groups.front().insert(groups.front().end(), unknown.begin(), unknown.end());
        std::ranges::sort(groups.front());
    } else if (!unknown.empty())
        groups.push_back(std::move(unknown));
    std::ranges::sort(groups);
    return groups;
}

} // namespace lockstep::core
