// SPDX-License-Identifier: MIT
#include "analysis/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

#include "base/moments.h"
#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

/// Holm's level for several comparisons, with room for noise that is far from normal.
constexpr double falseFamilies = 0.04;

bool isUsable(const std::vector<Repeat> &times) {
    return !times.empty() && std::ranges::all_of(times, [](const Repeat &time) { return isTimeOfWork(time.value); });
}

std::vector<Repeat> logsOf(std::vector<Repeat> times) {
    for (Repeat &time : times)
        time.value = std::log(time.value);
    return times;
}

double meanOfValues(const std::vector<Repeat> &repeats) {
    std::vector<double> values;
    for (const Repeat &repeat : repeats)
        values.push_back(repeat.value);
    std::ranges::sort(values); // sums then do not depend on the repeats' order
    return meanOf(values).value_or(0);
}

/// What a comparison contributes to a family of so many: a repeat is left out only where it stands out among the repeats of all.
double chanceAmong(const SpeedUp &speedUp, double comparisons) {
    return speedUp.leftOut && speedUp.leftOut->chance > standsOutAt / comparisons ? speedUp.chanceOfAll
                                                                                  : speedUp.chance;
}

} // namespace

bool shareEarlierEpochs(const std::vector<Repeat> &repeats) {
    std::set<double> seen;
    return !std::ranges::all_of(
        repeats, [&](const Repeat &one) { return one.earlierS <= 0 || seen.insert(one.earlierS).second; });
}

std::string equalWithinText() {
    return "within ±" + std::to_string(std::lround(100 * equalWithin)) + " %";
}

std::optional<double> geometricMeanOf(const std::vector<Repeat> &times) {
    return isUsable(times) ? std::optional(std::exp(meanOfValues(logsOf(times)))) : std::nullopt;
}

std::optional<CountedRepeats> countedOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run) {
    return isUsable(reference) && isUsable(run) ? std::optional(countedRepeats(reference, run)) : std::nullopt;
}

std::optional<double> meanFactorOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run) {
    const auto counted = countedOf(reference, run);
    return counted ? meanFactorOf(reference, run, *counted) : std::nullopt;
}

std::optional<double> meanFactorOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run,
                                   const CountedRepeats &counted) {
    if (!isUsable(reference) || !isUsable(run))
        return std::nullopt;
    return std::exp(meanOfValues(logsOf(pick(reference, counted.reference))) -
                    meanOfValues(logsOf(pick(run, counted.run))));
}

std::optional<SpeedUp> speedUpOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run) {
    const auto counted = countedOf(reference, run);
    return counted ? speedUpOf(reference, run, *counted) : std::nullopt;
}

std::optional<SpeedUp> speedUpOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run,
                                 const CountedRepeats &counted) {
    if (!isUsable(reference) || !isUsable(run))
        return std::nullopt;
    const std::vector<Repeat> from = logsOf(pick(run, counted.run)), to = logsOf(pick(reference, counted.reference));
    const MeanDifference saved = counted.standingOut ? differenceOfTheRest(from, to) : differenceOf(from, to);
    SpeedUp out;
    out.factor = std::exp(saved.value);
    out.leftOut = counted.standingOut;
    out.disturbance = counted.disturbance;
    out.referenceRepeats = int(to.size()) + (out.leftOut && out.leftOut->ofFirst);
    out.runRepeats = int(from.size()) + (out.leftOut && !out.leftOut->ofFirst);
    out.shareEpochs = shareEarlierEpochs(from) || shareEarlierEpochs(to);
    if (!saved.low || out.shareEpochs)
        return out;
    out.low = std::exp(*saved.low);
    out.high = std::exp(*saved.high);
    out.least = std::exp(*saved.least);
    out.most = std::exp(*saved.most);
    out.method = saved.method;
    out.confidence = saved.confidence;
    out.chance = out.chanceOfAll = saved.chance;
    if (out.leftOut) {
        CountedRepeats with = counted;
        std::vector<std::size_t> &places = out.leftOut->ofFirst ? with.reference : with.run;
        places.push_back(out.leftOut->index);
        out.chanceOfAll = differenceOf(logsOf(pick(run, with.run)), logsOf(pick(reference, with.reference))).chance;
    }
    out.different = out.leavesOutOne() && !out.isUnsettled();
    return out;
}

void decideTogether(const std::vector<SpeedUp *> &family) {
    std::vector<SpeedUp *> judged;
    for (SpeedUp *one : family)
        if (one && one->hasInterval())
            judged.push_back(one);
    const double count = double(judged.size()), level = judged.size() > 1 ? falseFamilies : falseAlarms;
    for (SpeedUp *one : judged)
        one->chance = chanceAmong(*one, count);
    std::ranges::stable_sort(judged, {}, [](const SpeedUp *one) { return one->chance; });
    bool going = true; // until one can't be told apart
    for (std::size_t i = 0; i < judged.size(); ++i) {
        going = going && judged[i]->chance <= level / (count - double(i)) && judged[i]->leavesOutOne();
        judged[i]->different = going && !judged[i]->isUnsettled();
        judged[i]->comparisons = int(judged.size());
    }
}

} // namespace lockstep::core
