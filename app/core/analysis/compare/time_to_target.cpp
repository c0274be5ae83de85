// SPDX-License-Identifier: MIT
#include "analysis/compare/time_to_target.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/compare/energy.h"
#include "base/format.h"
#include "ipc/median.h"
#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

bool isMet(const Target &target, double value) {
    return target.kind == Target::Kind::Accuracy ? value >= target.value : value <= target.value;
}

bool isBetter(const Target &target, double value, double than) {
    return target.kind == Target::Kind::Accuracy ? value > than : value < than;
}

std::optional<double> valueOf(const MergedEpoch &epoch, const Target &target) {
    const std::optional<double> value = target.kind == Target::Kind::Loss ? epoch.loss
                                        : epoch.eval                      ? std::optional(epoch.eval->accuracy)
                                                                          : std::nullopt;
    return value && std::isfinite(*value) ? value : std::nullopt;
}

/// Whether the epoch's value counts: one rank tests for all, but a loss is all ranks'. What was tested before a checkpoint is another run's.
bool counts(const RunOutcome &run, const MergedEpoch &epoch, const Target &target) {
    return epoch.complete || (target.kind == Target::Kind::Accuracy && epoch.eval && epoch.epoch >= run.firstEpoch);
}

/// An epoch on the way to a target.
struct EpochOnTheWay {
    int epoch = 1;
    std::optional<double> value, durationS;
    double beforeS = 0; ///< MergedEpoch's
};

/// The losses of the epochs before a checkpoint are in the run's summary.
std::vector<EpochOnTheWay> countedEpochs(const RunOutcome &run, const Target &target) {
    std::vector<EpochOnTheWay> out;
    if (target.kind == Target::Kind::Loss)
        for (const EpochSummary &epoch : run.summedEpochs)
            if (epoch.epoch < run.firstEpoch && epoch.epoch == int(out.size()) + 1)
                out.push_back({epoch.epoch, finiteOrUnknown(epoch.loss), epoch.durationS});
    for (const MergedEpoch &epoch : run.epochs)
        if (counts(run, epoch, target))
            out.push_back({epoch.epoch, valueOf(epoch, target),
                           epoch.complete ? std::optional(epoch.durationS) : std::nullopt, epoch.beforeS});
    return out;
}

std::string shown(const Target &target, double value) {
    return (target.kind == Target::Kind::Accuracy ? percent(value) : significant(value)).toStdString();
}

/// The time at which a share of the repeats got there: those that did not come last.
std::optional<double> medianOf(const std::vector<TargetHit> &hits) {
    std::vector<double> times;
    for (const TargetHit &hit : hits)
        if (hit.seconds)
            times.push_back(*hit.seconds);
    std::ranges::sort(times);
    if (times.size() < std::size_t(std::ranges::count_if(hits, &TargetHit::isReached)))
        return std::nullopt; // one whose time is unknown may lie anywhere
    const std::size_t upper = hits.size() / 2, lower = (hits.size() - 1) / 2;
    if (hits.empty() || upper >= times.size())
        return std::nullopt;
    return (times[lower] + times[upper]) / 2;
}

std::string reachedText(const TimeToTarget &out) {
    std::set<int> known, interpolated,
        before; // the epoch by whose end it was met, and that from which it was interpolated
    for (const TargetHit &hit : out.repeats)
        if (hit.seconds && hit.after > 0) {
            interpolated.insert(hit.epoch);
            before.insert(hit.after);
        } else if (hit.seconds)
            known.insert(hit.epoch);
    const auto number = [](int epoch) { return std::to_string(epoch); };
    if (known.empty())
        return "interpolated between epochs " + number(*before.begin()) + " and " + number(*interpolated.rbegin());
    const std::string byThen = "by the end of epoch " + number(*known.rbegin());
    return interpolated.empty() ? byThen : byThen + ", or interpolated up to epoch " + number(*interpolated.rbegin());
}

std::string howText(const TimeToTarget &out, const Target &target, std::size_t epochs) {
    if (out.repeats.empty())
        return target.kind == Target::Kind::Accuracy ? "no epoch was evaluated" : "no epoch reported its loss";
    const int all = int(out.repeats.size()), timed = int(std::ranges::count_if(out.repeats, &TargetHit::isTimed));
    std::string text = timed > 0 ? reachedText(out) : std::string();
    const auto add = [&](const std::string &what, int repeats) {
        text += (text.empty() ? "" : "; ") + what;
        if (repeats < all)
            text += " in " + std::to_string(repeats) + " of " + std::to_string(all) + " repeats";
    };
    const int perhapsBefore = int(std::ranges::count_if(out.repeats, &TargetHit::perhapsBefore));
    if (perhapsBefore > 0)
        add("whether it was met before the checkpoint is unknown", perhapsBefore);
    if (timed + perhapsBefore < out.reached)
        add("the time of an epoch until then is unknown", out.reached - timed - perhapsBefore);
    if (out.reached == all)
        return text;
    add("not reached", all - out.reached);
    std::optional<double> best; // of those that did not get there
    for (const TargetHit &hit : out.repeats)
        if (!hit.isReached() && (!best || isBetter(target, *hit.best, *best)))
            best = hit.best;
    return text + ": best " + shown(target, *best) + " in " + std::to_string(epochs) +
           (epochs == 1 ? " epoch" : " epochs");
}

TimeToTarget timeOf(const RepeatGroup &group, const Target &target) {
    TimeToTarget out;
    out.group = group.name;
    std::size_t epochs = 0;
    for (const RunOutcome &run : group.runs) {
        TargetHit hit = hitOf(run, target);
        if (!hit.best)
            continue;
        hit.made = repeatOf(run, 0, run.earlierS);
        epochs = std::max(epochs, countedEpochs(run, target).size());
        out.repeats.push_back(hit);
        if (!out.best || isBetter(target, *hit.best, *out.best))
            out.best = hit.best;
        out.reached += hit.isReached() ? 1 : 0;
        if (!hit.seconds)
            continue;
        out.fastest = std::min(out.fastest.value_or(*hit.seconds), *hit.seconds);
        out.slowest = std::max(out.slowest.value_or(*hit.seconds), *hit.seconds);
    }
    out.seconds = medianOf(out.repeats);
    std::vector<double> wattHours;
    for (const TargetHit &hit : out.repeats)
        if (hit.wattHours)
            wattHours.push_back(*hit.wattHours);
    if (wattHours.size() == out.repeats.size()) // else those that got there soon would speak for all
        out.wattHours = median(std::move(wattHours));
    out.how = howText(out, target, epochs);
    return out;
}

std::vector<Repeat> times(const TimeToTarget &group) {
    std::vector<Repeat> out;
    for (const TargetHit &hit : group.repeats)
        if (hit.seconds)
            out.push_back(
                {*hit.seconds, hit.made.round, hit.made.moment, hit.made.load, hit.made.number, hit.made.earlierS});
    return out;
}

bool allTimed(const TimeToTarget &group) {
    return !group.repeats.empty() && std::ranges::all_of(group.repeats, &TargetHit::isTimed);
}

} // namespace

std::string toText(const Target &target) {
    return (target.kind == Target::Kind::Accuracy ? "test accuracy " : "training loss ") + shown(target, target.value);
}

TargetHit hitOf(const RunOutcome &run, const Target &target) {
    TargetHit out;
    std::optional<double> start = 0; // of training time, where this epoch begins
    double before = 0;               // the last value known, at `beforeAt`
    std::optional<double> beforeAt;
    int beforeEpoch = 0, last = 0;
    for (const EpochOnTheWay &epoch : countedEpochs(run, target)) {
        if (epoch.epoch > last + 1) { // only what a run's summary says of the epochs before its checkpoint is known
            const bool wentOn = last == 0 && epoch.epoch == run.firstEpoch && run.earlierS > 0;
            start = wentOn ? std::optional(run.earlierS - epoch.beforeS) : std::nullopt;
        }
        const std::optional<double> end =
            start && epoch.durationS ? std::optional(*start + *epoch.durationS) : std::nullopt;
        if (const auto value = epoch.value) {
            if (!out.best || isBetter(target, *value, *out.best))
                out.best = value;
            if (!out.isReached() && isMet(target, *value)) {
                out.epoch = epoch.epoch;
                out.after = beforeEpoch;
                out.perhapsBefore = beforeEpoch == 0 && run.firstEpoch > 1 && epoch.epoch >= run.firstEpoch;
                // `before` misses the target and `value` meets it, so the two differ.
                out.seconds = end && beforeAt
                                  ? *beforeAt + (target.value - before) / (*value - before) * (*end - *beforeAt)
                                  : end;
                if (out.perhapsBefore)
                    out.seconds.reset();
            }
            before = *value;
            beforeAt = end;
            beforeEpoch = epoch.epoch;
        }
        start = end;
        last = epoch.epoch;
    }
    if (const auto watts = devicesPowerOf(run); watts && out.seconds)
        out.wattHours = *watts * *out.seconds / 3600;
    return out;
}

std::vector<TimeToTarget> timesToTarget(const std::vector<RepeatGroup> &groups, const Target &target) {
    std::vector<TimeToTarget> out;
    out.reserve(groups.size());
    for (const RepeatGroup &group : groups)
        out.push_back(timeOf(group, target));
    const auto marked = std::ranges::find(groups, true, &RepeatGroup::reference);
    if (marked == groups.end())
        return out;
    const TimeToTarget &reference = out[std::size_t(marked - groups.begin())];
    std::vector<SpeedUp *> family;
    for (TimeToTarget &one : out)
        if (&one != &reference && allTimed(one) && allTimed(reference)) {
            one.speedUp = speedUpOf(times(reference), times(one));
            if (one.speedUp)
                family.push_back(&*one.speedUp);
        }
    decideTogether(family);
    return out;
}

std::optional<Target> suggestedTarget(const std::vector<RepeatGroup> &groups, Target::Kind kind) {
    std::optional<double> worst;
    const bool accuracy = kind == Target::Kind::Accuracy;
    for (const TimeToTarget &group :
         timesToTarget(groups, {kind, accuracy ? 2.0 : -1.0})) // out of reach: the best value is computed
        for (const TargetHit &hit : group.repeats)
            if (hit.best)
                worst = !worst ? *hit.best : accuracy ? std::min(*worst, *hit.best) : std::max(*worst, *hit.best);
    if (!worst || !std::isfinite(*worst) || *worst <= 0)
        return std::nullopt;
    if (accuracy)
        return Target{kind, std::floor(*worst * 100) / 100};
    const double digit = std::pow(10, std::floor(std::log10(*worst)) - 1);
    return Target{kind, std::ceil(*worst / digit - 1e-9) * digit};
}

} // namespace lockstep::core
