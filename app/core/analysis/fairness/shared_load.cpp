// SPDX-License-Identifier: MIT
#include "analysis/fairness/shared_load.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "analysis/compare/statistics.h"
#include "analysis/compare/student.h"
#include "base/format.h"
#include "base/moments.h"
#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

constexpr double namedExcess = 0.1, namedRaw = 0.5, leastSpread = 0.02;
constexpr int leastDegrees = 4;
constexpr double boundless = 1e9; ///< cores: of the host beside GPUs

using CoresOf = std::optional<double> (*)(const RunOutcome &);

struct GroupLoad {
    double raw = 0, excess = 0;
};

/// Mean over its repeats; absent when it is unknown for one of them.
std::optional<GroupLoad> loadOf(const RepeatGroup &group, CoresOf cores, bool takesFreeCores) {
    std::vector<double> raw, excess;
    for (const RunOutcome &run : group.runs) {
        const auto taken = cores(run);
        if (!taken)
            return std::nullopt;
        raw.push_back(*taken);
        excess.push_back(std::max(0.0, *taken - (takesFreeCores ? freeCoresWhereLoaded(run) : 0)));
    }
    return raw.empty() ? std::nullopt : std::optional(GroupLoad{*meanOf(raw), *meanOf(excess)});
}

std::string rangeText(double low, double high) {
    const std::string from = coresText(low).toStdString(), to = coresText(high).toStdString();
    return from == to ? to : from.substr(0, from.find(' ')) + " to " + to;
}

std::optional<SharedLoad> sharedLoad(const std::vector<RepeatGroup> &groups, const char *key, const char *who,
                                     CoresOf cores, bool takesFreeCores) {
    std::optional<SharedLoad> out;
    for (const RepeatGroup &group : groups) {
        const auto load = loadOf(group, cores, takesFreeCores);
        if (!load)
            return std::nullopt;
        if (!out)
            out = SharedLoad{key, load->raw, load->raw, load->excess, load->excess, {}};
        out->low = std::min(out->low, load->raw);
        out->high = std::max(out->high, load->raw);
        out->excessLow = std::min(out->excessLow, load->excess);
        out->excessHigh = std::max(out->excessHigh, load->excess);
    }
    if (!out || (out->excessLow < namedExcess && out->low < namedRaw))
        return std::nullopt;
    const bool inTheWay = out->excessLow >= namedExcess;
    out->sentence = std::string(who) + " took " + rangeText(out->low, out->high) + " in every run" +
                    (!takesFreeCores ? ""
                     : inTheWay      ? ", " + rangeText(out->excessLow, out->excessHigh) + " more than were free"
                                : ", at most " + coresText(out->excessHigh).toStdString() + " more than were free");
    out->sentence +=
        inTheWay ? ". This lengthened all times, perhaps not equally; the speed-ups hold for this busy machine only."
                 : ". It shared caches, memory and the clock with all runs.";
    return out;
}

/// Logarithms of times and excess of a group's repeats that know both.
struct Points {
    std::vector<double> x, y;
};

Points pointsOf(const RepeatGroup &group) {
    Points out;
    for (const RunOutcome &run : group.runs)
        if (const auto excess = excessCores(run);
            excess && run.totalTrainingTimeS && isTimeOfWork(*run.totalTrainingTimeS)) {
            out.x.push_back(*excess);
            out.y.push_back(std::log(*run.totalTrainingTimeS));
        }
    return out;
}

struct Sums {
    double xx = 0, xy = 0, yy = 0;
    int repeats = 0, groups = 0;
    void add(const Points &points) {
        if (points.x.size() < 2)
            return;
        const double middleX = *meanOf(points.x), middleY = *meanOf(points.y);
        for (std::size_t i = 0; i < points.x.size(); ++i) {
            const double x = points.x[i] - middleX, y = points.y[i] - middleY;
            xx += x * x;
            xy += x * y;
            yy += y * y;
        }
        repeats += int(points.x.size());
        ++groups;
    }
    [[nodiscard]] int degrees() const { return repeats - groups - 1; }
    /// Whether a slope may be taken from them.
    [[nodiscard]] bool areEnough() const {
        return degrees() >= leastDegrees && std::sqrt(xx / (repeats - groups)) >= leastSpread;
    }
};

/// Of the pair alone where that is enough, so that no other run moves its figure; else of all runs of its experiments.
Sums slopesFor(const RepeatGroup &reference, const RepeatGroup &run, const std::vector<RepeatGroup> &groups) {
    Sums ofPair, ofAll;
    std::set<std::string_view> experiments;
    for (const RepeatGroup *group : {&reference, &run}) {
        ofPair.add(pointsOf(*group));
        for (const RunOutcome &one : group->runs)
            experiments.insert(one.experiment);
    }
    if (ofPair.areEnough())
        return ofPair;
    for (const RepeatGroup &group : groups)
        if (std::ranges::all_of(group.runs,
                                [&](const RunOutcome &one) { return experiments.contains(one.experiment); }))
            ofAll.add(pointsOf(group));
    return ofAll;
}

} // namespace

std::optional<double> shareOfTime(std::optional<double> partS, double wholeS) {
    return partS && isTimeOfWork(wholeS) ? std::optional(*partS / wholeS) : std::nullopt;
}

std::optional<double> otherCores(const RunOutcome &run) {
    const auto &around = run.conditions.surroundings;
    return around ? shareOfTime(around->otherCpuS, around->measuredS) : std::nullopt;
}

std::optional<double> stolenCores(const RunOutcome &run) {
    const auto &around = run.conditions.surroundings;
    return around ? shareOfTime(around->stolenS, around->measuredS) : std::nullopt;
}

double freeCoresWhereLoaded(const RunOutcome &run) {
    const auto &around = run.conditions.surroundings;
    return around && around->freeCores ? double(*around->freeCores) : freeCores(run);
}

double freeCores(const RunOutcome &run) {
    if (run.conditions.freeCores)
        return *run.conditions.freeCores;
    return run.config && run.config->device != "cpu" ? boundless : 0;
}

std::optional<double> excessCores(const RunOutcome &run) {
    const auto other = otherCores(run);
    if (!other)
        return std::nullopt;
    return std::max(0.0, *other - freeCoresWhereLoaded(run)) + stolenCores(run).value_or(0);
}

std::vector<SharedLoad> sharedLoadsOf(const std::vector<RepeatGroup> &groups) {
    std::vector<SharedLoad> out;
    if (auto load = sharedLoad(groups, "load", "other programs", otherCores, true))
        out.push_back(std::move(*load));
    if (auto stolen = sharedLoad(groups, "stolen", "the hypervisor's other guests", stolenCores, false))
        out.push_back(std::move(*stolen));
    return out;
}

std::optional<AdjustedFactor> adjustedFactorOf(const RepeatGroup &reference, const RepeatGroup &run,
                                               const std::vector<RepeatGroup> &groups) {
    const Points from = pointsOf(reference), to = pointsOf(run);
    if (int(from.x.size()) < repeatsForInterval || int(to.x.size()) < repeatsForInterval)
        return std::nullopt;
    const auto ofReference = std::ranges::minmax(from.x), ofRun = std::ranges::minmax(to.x);
    if (ofReference.min > ofRun.max || ofRun.min > ofReference.max)
        return std::nullopt;
    const Sums sums = slopesFor(reference, run, groups);
    if (!sums.areEnough())
        return std::nullopt;
    const int degrees = sums.degrees();
    AdjustedFactor out;
    out.perCore = sums.xy / sums.xx;
    out.repeats = sums.repeats;
    out.degrees = degrees;
    const double apart = *meanOf(from.x) - *meanOf(to.x);
    const double logarithm = *meanOf(from.y) - *meanOf(to.y) - out.perCore * apart;
    const double variance = std::max(0.0, sums.yy - out.perCore * sums.xy) / degrees;
    const double reach =
        studentQuantile(0.95, degrees) *
        std::sqrt(variance * (1.0 / double(from.x.size()) + 1.0 / double(to.x.size()) + apart * apart / sums.xx));
    out.factor = std::exp(logarithm);
    out.low = std::exp(logarithm - reach);
    out.high = std::exp(logarithm + reach);
    const bool finite = isFiniteValue(out.low) && isFiniteValue(out.high) && out.low > 0;
    return finite ? std::optional(out) : std::nullopt;
}

std::string sentenceOf(const AdjustedFactor &adjusted) {
    return "adjusted for measured load: " + speedUp(adjusted.factor).toStdString() + " (" +
           factorText(adjusted.low).toStdString() + "-" + factorText(adjusted.high).toStdString() +
           "); a sensitivity check, not the result";
}

} // namespace lockstep::core
