// SPDX-License-Identifier: MIT
// What was measured, or recorded of the machines: thresholds and their reasons stand in fairness.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/compare/result_table.h"
#include "analysis/compare/tested_accuracy.h"
#include "analysis/fairness/fairness_detail.h"
#include "analysis/fairness/runs_beside.h"
#include "analysis/fairness/shared_load.h"
#include "analysis/history/run_facts.h"
#include "analysis/history/work_amount.h"
#include "base/format.h"
#include "base/moments.h"
#include "experiment/run_names.h"
#include "ipc/median.h"
#include "ipc/printable.h"

namespace lockstep::core::fairness {
namespace {

using enum FairnessWeight;
using Unlikes = std::vector<Unlike>;

constexpr double namedCores = 0.05, notableCores = 0.1, decisiveCores = 0.5, namedFreeCores = 0.5;
constexpr double namedBeside = 0.1, notableBeside = 0.25; ///< other runs at the same time, mean over the run
constexpr double namedThrottle = 0.02, notableThrottle = 0.05, decisiveThrottle = 0.3;
constexpr double namedAccuracy = 0.01, decisiveAccuracy = 0.03;
constexpr double notableSamples = noRepeatsFrom, decisiveSamples = 0.05; ///< named from `unlikeFrom`
constexpr double unlikeStepSizes = 1.0 / 3; ///< batches of random sizes are less apart, accumulated gradients more

FairnessWeight weightOf(double apart, double notable, double decisive) {
    return apart >= decisive ? Decisive : apart >= notable ? Notable : Minor;
}

/// "Its 3 repeats run again in their place."
std::string againText(std::size_t repeats, std::size_t all) {
    if (all == 1)
        return "It runs again in its place";
    const std::string of =
        repeats == all ? "Its " + std::to_string(all) : std::to_string(repeats) + " of its " + std::to_string(all);
    return of + (repeats == 1 ? " repeats runs again in its place" : " repeats run again in their place");
}

/// These repeats of the group again, replacing their measurements; `how`: the changed condition.
std::optional<SuggestedRun> again(const RepeatGroup &group, const std::vector<const RunOutcome *> &repeats,
                                  const std::string &how, const std::string &then) {
    if (repeats.empty() || !repeats.front()->config)
        return std::nullopt;
    SuggestedRun out{group.name + " (" + how + ")", againText(repeats.size(), group.runs.size()) + ": " + then,
                     *repeats.front()->config, group.command, repeats.front()->claims};
    out.experiment = repeats.front()->experiment;
    for (const RunOutcome *run : repeats) {
        out.again.push_back(run->run);
        if (run->experiment != out.experiment)
            out.experiment.clear();
    }
    return out;
}

/// The disturbed repeats again, under the conditions of the other group: those whose figure is from `from` on.
std::optional<SuggestedRun> undisturbed(const RepeatGroup &group, const Figure &figure, double from,
                                        const std::string &how) {
    std::vector<const RunOutcome *> repeats;
    for (const RunOutcome &run : group.runs)
        if (const auto value = figure(run); value && *value >= from)
            repeats.push_back(&run);
    if (repeats.empty()) // by a hair
        for (const RunOutcome &run : group.runs)
            repeats.push_back(&run);
    return again(group, repeats, how, "then both were run under the same conditions.");
}

// --- Processor time of other programs -------------------------------------------------------------------------------

struct Guest {
    const char *key, *label, *cure;
    Figure cores;                          ///< cores' worth, mean over the run
    double (*free)(const RunOutcome &run); ///< cores where it is in nobody's way; null: none
};

void compareGuest(const Pair &pair, const Guest &guest, Unlikes &out) {
    const auto excess = [&](const RunOutcome &run) -> std::optional<double> {
        const auto taken = guest.cores(run);
        return taken ? std::optional(std::max(0.0, *taken - (guest.free ? guest.free(run) : 0))) : std::nullopt;
    };
    const auto a = meanOf(figuresOf(pair.reference, guest.cores)), b = meanOf(figuresOf(pair.run, guest.cores));
    const auto excessA = meanOf(figuresOf(pair.reference, excess)), excessB = meanOf(figuresOf(pair.run, excess));
    if (!a || !b)
        return;
    const double apart = std::fabs(*excessA - *excessB);
    const bool inTheWay = apart >= namedCores;
    if (!inTheWay && std::fabs(*a - *b) < namedFreeCores)
        return;
    const auto text = [](double cores) { return coresText(cores).toStdString(); };
    const std::string beyond = " beyond what was free";
    const bool sameRaw = inTheWay && text(*a) == text(*b); // then what was free made the difference
    const bool worseIsRun = inTheWay ? *excessB > *excessA : *b > *a;
    const RepeatGroup &worse = worseIsRun ? pair.run : pair.reference;
    Unlike one = difference(
        guest.key, guest.label, sameRaw ? text(*excessA) + beyond : text(*a),
        sameRaw ? text(*excessB) + beyond : text(*b), inTheWay ? weightOf(apart, notableCores, decisiveCores) : Minor,
        inTheWay ? "with no core free, " + worse.name + " may have taken up to " + percent(apart, 0).toStdString() +
                       " longer" +
                       (!sameRaw && (*a > *excessA || *b > *excessB)
                            ? " (beyond what was free: " + text(*excessB) + " instead of " + text(*excessA) + ")"
                            : "")
                 : "it ran on cores that were free, but shared caches, memory and the clock");
    const auto least = inTheWay ? std::min(*excessA, *excessB) : std::min(*a, *b);
    one.finding.control = inTheWay ? undisturbed(worse, excess, least + namedCores, guest.cure)
                                   : undisturbed(worse, guest.cores, least + namedFreeCores, guest.cure);
    out.push_back(std::move(one));
}

void compareGuests(const Pair &pair, Unlikes &out) {
    compareGuest(pair, {"load", "Other programs", "close other programs first", otherCores, freeCoresWhereLoaded}, out);
    compareGuest(pair, {"stolen", "Stolen time", "when the host is quiet", stolenCores, nullptr}, out);
    compareGuest(pair,
                 {"watching", "Viewers' own work", "without viewers on its machine",
                  [](const RunOutcome &run) -> std::optional<double> {
                      const auto &watching = run.conditions.watching;
                      // Without viewers it is known to be 0; with viewers but not measured it is unknown.
                      if (!watching || !run.runTimeS || (watching->watchedS > 0 && !watching->viewersCpuS))
                          return std::nullopt;
                      return shareOfTime(watching->viewersCpuS.value_or(0), *run.runTimeS);
                  },
                  freeCores},
                 out);
}

// --- Runs of ours beside it -----------------------------------------------------------------------------------------

void compareSideBySide(const Pair &pair, Unlikes &out) {
    const Figure beside = [&](const RunOutcome &run) { return pair.beside.of(run); };
    const auto a = meanOf(figuresOf(pair.reference, beside)), b = meanOf(figuresOf(pair.run, beside));
    if (!a || !b || std::fabs(*a - *b) < namedBeside)
        return;
    const auto text = [](double runs) {
        return runs < namedBeside / 2 ? std::string("none") : significant(runs, 2).toStdString() + " on average";
    };
    const RepeatGroup &worse = *b > *a ? pair.run : pair.reference;
    Unlike one = difference("side_by_side", "Other runs side by side", text(*a), text(*b),
                            std::fabs(*a - *b) >= notableBeside ? Notable : Minor,
                            "runs side by side share the memory's bandwidth, the caches and the clock");
    one.finding.control = undisturbed(worse, beside, std::min(*a, *b) + namedBeside, "one at a time");
    if (one.finding.control)
        one.finding.control->alone = true;
    out.push_back(std::move(one));
}

// --- Clocks ---------------------------------------------------------------------------------------------------------

std::string throttleText(double share, const RepeatGroup &group) {
    std::set<std::string> reasons;
    for (const RunOutcome &run : group.runs)
        if (run.conditions.surroundings)
            reasons.insert(run.conditions.surroundings->throttle.begin(), run.conditions.surroundings->throttle.end());
    std::string text = percent(share, 0).toStdString() + " of the time";
    for (const std::string &reason : reasons)
        text += (&reason == &*reasons.begin() ? " (" : ", ") + reason;
    return text + (reasons.empty() ? "" : ")");
}

/// Heat is counted by the kernel in events, not in seconds.
bool wasHot(const RunOutcome &run) {
    const auto &around = run.conditions.surroundings;
    return around && std::ranges::find(around->throttle, "processor too hot") != around->throttle.end();
}

void compareThrottling(const Pair &pair, Unlikes &out) {
    const Figure share = [](const RunOutcome &run) -> std::optional<double> {
        const auto &around = run.conditions.surroundings;
        return around ? shareOfTime(around->throttledS.value_or(0), around->measuredS) : std::nullopt;
    };
    const auto a = meanOf(figuresOf(pair.reference, share)), b = meanOf(figuresOf(pair.run, share));
    if (!a || !b)
        return;
    const double apart = std::fabs(*a - *b);
    const bool hotA = std::ranges::any_of(pair.reference.runs, wasHot),
               hotB = std::ranges::any_of(pair.run.runs, wasHot);
    if (apart < namedThrottle && hotA == hotB)
        return;
    const RepeatGroup &worse = *b > *a || (hotB && !hotA) ? pair.run : pair.reference;
    Unlike one =
        difference("throttling", "Held down", throttleText(*a, pair.reference), throttleText(*b, pair.run),
                   std::max(hotA != hotB ? Notable : Minor, weightOf(apart, notableThrottle, decisiveThrottle)),
                   worse.name + " was not given its full speed");
    const double from = std::min(*a, *b) + namedThrottle;
    const Figure held = [&](const RunOutcome &run) -> std::optional<double> {
        return hotA != hotB && wasHot(run) ? std::optional(from) : share(run);
    };
    one.finding.control = undisturbed(worse, held, from, "once it has cooled or its limit is lifted");
    out.push_back(std::move(one));
}

// --- Work done and accuracy reached --------------------------------------------------------------------------------

bool isKnownOfEach(const RepeatGroup &group, const Figure &figure) {
    return std::ranges::all_of(group.runs, [&](const RunOutcome &run) { return figure(run).has_value(); });
}

/// Of the repeats' values the two, one of either group, that are furthest apart; absent where one group knows none.
std::optional<std::pair<double, double>> furthestApart(const Pair &pair, const Figure &figure) {
    const std::vector<double> a = figuresOf(pair.reference, figure), b = figuresOf(pair.run, figure);
    if (a.empty() || b.empty())
        return std::nullopt;
    const auto [leastA, mostA] = std::ranges::minmax(a);
    const auto [leastB, mostB] = std::ranges::minmax(b);
    return mostB / leastA >= mostA / leastB ? std::pair(leastA, mostB) : std::pair(mostA, leastB);
}

// What a run had to do. Its samples say it; where they are unknown, steps say it of runs whose steps are alike.

std::string lessToDo(double apart) {
    return "the one with fewer had " + percent(apart, 2).toStdString() + " less to do";
}

/// One that did less makes the others' mean look faster. False: they are alike, or nothing is known of one group.
bool compareCount(const char *key, const char *label, const std::optional<std::pair<double, double>> &found,
                  Unlikes &out) {
    const double apart = found ? shareApart(found->first, found->second) : 0;
    if (apart < unlikeFrom)
        return false;
    out.push_back(difference(key, label, std::to_string(std::int64_t(found->first)),
                             std::to_string(std::int64_t(found->second)),
                             weightOf(apart, notableSamples, decisiveSamples), lessToDo(apart)));
    return true;
}

/// How far apart the two are if a step has as many parts as `stepParts` says; absent: unknown. The last step of an epoch
/// may lack some.
std::optional<double> apartInParts(const Pair &pair, const Figure &stepParts, double epochs) {
    const auto found = furthestApart(pair, [&](const RunOutcome &run) -> std::optional<double> {
        const auto steps = stepsMade(run), parts = stepParts(run);
        return steps && parts ? std::optional(*steps * *parts) : std::nullopt;
    });
    if (!found)
        return std::nullopt;
    const auto a = std::llround(stepParts(pair.a()).value_or(1)), b = std::llround(stepParts(pair.b()).value_or(1));
    const double lacking = double(std::max(a, b) - std::gcd(a, b)) * epochs;
    return std::max(0.0, std::fabs(found->first - found->second) - lacking) / std::max(found->first, found->second);
}

/// "100 steps by each of 2 ranks"; of a group whose steps are unknown its epochs.
std::string workDone(const RepeatGroup &group) {
    const auto steps = meanOf(figuresOf(group, stepsMade)), epochs = meanOf(figuresOf(group, epochsMade));
    const int ranks = group.runs.front().processes;
    return (steps    ? std::to_string(std::llround(*steps)) + " steps"
            : epochs ? std::to_string(std::llround(*epochs)) + " epochs of unknown steps"
                     : std::string("unknown")) +
           (ranks > 1 ? " by each of " + std::to_string(ranks) + " ranks" : "");
}

/// Steps that are not alike: the same work if there are as many, as many of all ranks together, or as many samples by
/// the batch size.
void compareUnlikeSteps(const Pair &pair, Unlikes &out) {
    const auto epochs = furthestApart(pair, epochsMade);
    if (!epochs && figuresOf(pair.reference, stepsMade).empty() && figuresOf(pair.run, stepsMade).empty())
        return; // nothing of this was recorded
    const std::array<Figure, 3> readings = {
        [](const RunOutcome &) { return std::optional(1.0); },
        [](const RunOutcome &run) { return std::optional(double(run.processes)); },
        [](const RunOutcome &run) -> std::optional<double> {
            const RunFacts facts = factsOf(run);
            const auto batch = facts.find("batch_size");
            const double samples = batch == facts.end() ? 0 : QString::fromStdString(batch->second).toDouble();
            return samples >= 1 && samples <= 1e12 ? std::optional(samples) : std::nullopt; // nor "inf" of a script's
        }};
    std::optional<double> least;
    for (const Figure &stepParts : readings)
        if (const auto apart = apartInParts(pair, stepParts, epochs ? epochs->first : 1))
            least = std::min(least.value_or(*apart), *apart);
    if (least && *least < unlikeFrom)
        return;
    const FairnessWeight weight = least ? weightOf(*least, notableSamples, decisiveSamples) : Decisive;
    out.push_back(difference("work", "Work", workDone(pair.reference), workDone(pair.run), weight,
                             weight != Decisive
                                 ? lessToDo(*least)
                                 : "how many samples each has seen is unknown, so a gain may be less work. "
                                   "A script can report them: run.step(loss, samples)"));
}

/// Absent of a run that counts samples from before its checkpoint.
std::optional<double> samplesAStep(const RunOutcome &run) {
    const auto samples = samplesSeen(run), steps = stepsMade(run);
    return samples && steps && run.earlierS <= 0 ? std::optional(*samples / *steps) : std::nullopt;
}

/// Whether scripts that have seen as many samples learned from more of them at once, whatever they say of their batches:
/// gradients may accumulate.
void compareStepSizes(const Pair &pair, Unlikes &out) {
    const auto sizes = pair.a().script && pair.b().script ? furthestApart(pair, samplesAStep) : std::nullopt;
    if (!sizes || shareApart(sizes->first, sizes->second) < unlikeStepSizes)
        return;
    const auto text = [](double samples) {
        const double whole = std::round(samples);
        return std::abs(samples - whole) < 0.05 ? std::to_string(std::int64_t(whole))
                                                : significant(samples, 3).toStdString();
    };
    out.push_back(difference("batch_size", "Samples a step", text(sizes->first), text(sizes->second), Decisive,
                             "a different number of steps is different work"));
}

void compareWork(const Pair &pair, const Unlikes &settings, Unlikes &out) {
    const auto isMeant = [&](const char *key) { return names(settings, key) || pair.isVaried(key); };
    if (isMeant("dataset") || isMeant("train_samples") || isMeant("epochs"))
        return;
    const bool samplesKnown = isKnownOfEach(pair.reference, samplesSeen) && isKnownOfEach(pair.run, samplesSeen);
    // With another method, other processes or another batch, a step has other samples.
    const bool stepsAlike = pair.a().processes == pair.b().processes && !pair.differsInMethod && !isMeant("batch_size");
    const auto steps = !samplesKnown && stepsAlike ? furthestApart(pair, stepsMade) : std::nullopt;
    const bool found = steps ? compareCount("steps", "Steps made", steps, out)
                             : compareCount("samples", "Samples seen", furthestApart(pair, samplesSeen), out);
    if (!found && samplesKnown && stepsAlike)
        compareStepSizes(pair, out);
    if (found || samplesKnown || steps || compareCount("epochs", "Epochs", furthestApart(pair, epochsMade), out))
        return;
    if (furthestApart(pair, samplesSeen) || (!pair.a().script && !pair.b().script))
        return; // the other repeats' samples are alike; the settings say what our own trainer has to do
    const bool isSaid = std::ranges::any_of(settings, [](const Unlike &one) { // as different work
        return one.finding.key == "batch_size" && one.finding.weight == Decisive;
    });
    if (!stepsAlike && !isSaid)
        compareUnlikeSteps(pair, out);
}

/// How much accuracy still moved between a run's last two epochs, median over repeats: fair runs with short training
/// may differ by so much.
double settling(const RepeatGroup &group) {
    std::vector<double> moves;
    for (const RunOutcome &run : group.runs) {
        std::vector<double> accuracies;
        for (const MergedEpoch &epoch : run.epochs)
            if (epoch.eval)
                accuracies.push_back(epoch.eval->accuracy);
        if (accuracies.size() >= 2)
            moves.push_back(std::fabs(accuracies.back() - accuracies[accuracies.size() - 2]));
    }
    return median(moves).value_or(0);
}

const std::set<std::string_view> &lessonKeys() {
    static const std::set<std::string_view> keys = {
        "model",       "dataset",           "train_samples",    "epochs",
        "batch_size",  "augment",           "optimizer",        "lr",
        "lr_rule",     "momentum",          "dropout",          "weight_decay",
        "seed",        "precision",         "batch_per_device", "max_staleness",
        "lr_schedule", "warmup_steps",      "clip_grad_norm",   "decay_biases",
        "bert_dir",    "text_column",       "label_column",     "max_tokens",
        "padding",     "compress_gradients"};
    return keys;
}

/// Whether the recipe makes them learn different things on purpose: then it expects different accuracies.
bool isAnotherLesson(const Pair &pair) {
    const RunFacts a = factsOf(pair.a()), b = factsOf(pair.b());
    return std::ranges::any_of(pair.varies, [&](const std::string &key) {
        const auto one = a.find(key), other = b.find(key);
        return lessonKeys().contains(key) && one != a.end() && other != b.end() && one->second != other->second;
    });
}

/// Differing settings that change what is learnt: "Batch size (global), Dropout".
std::string lessonsNamed(const Unlikes &settings) {
    std::string out;
    for (const Unlike &one : settings)
        if (lessonKeys().contains(one.finding.key) &&
            one.finding.key != "seed") // a seed changes accuracy only by chance, and less
            out += (out.empty() ? "" : ", ") + one.finding.label;
    return out;
}

void compareAccuracy(const Pair &pair, const Unlikes &settings, Unlikes &out) {
    if (isAnotherLesson(pair))
        return;
    const auto [of, other, epoch] = comparedAccuracies(pair.reference, pair.run);
    const auto a = median(of), b = median(other);
    if (!a || !b)
        return;
    const double apart = std::fabs(*a - *b),
                 deviation = std::sqrt((varianceOf(of).value_or(0) + varianceOf(other).value_or(0)) / 2);
    const std::string named = lessonsNamed(settings);
    const double moved = std::max(settling(pair.reference), settling(pair.run));
    if (apart < std::max(namedAccuracy, moved) || apart < 3 * deviation)
        return;
    out.push_back(difference("accuracy", "Test accuracy" + (epoch ? " after epoch " + std::to_string(*epoch) : ""),
                             percent(*a).toStdString(), percent(*b).toStdString(),
                             apart >= std::max(decisiveAccuracy, 3 * moved) ? Decisive : Notable,
                             named.empty() ? "the same work would end closer, so something else differs too"
                                           : "what is learnt depends on what is named besides (" + named + ")"));
}

/// Whether all of one's repeats began before the other's first. Half of the earlier ones once more, and they begin and end it.
void compareOrder(const Pair &pair, Unlikes &out) {
    const auto ends = [](const RepeatGroup &group) {
        const auto [first, last] = std::ranges::minmax_element(group.runs, {}, &RunOutcome::startWallUs);
        return std::pair(first->startWallUs, last->startWallUs);
    };
    if (pair.reference.runs.size() < 2 || pair.run.runs.size() < 2)
        return; // of one run each, one is always first
    const auto [firstA, lastA] = ends(pair.reference);
    const auto [firstB, lastB] = ends(pair.run);
    if (firstA <= 0 || firstB <= 0 || (lastA >= firstB && lastB >= firstA))
        return;
    const bool referenceFirst = lastA < firstB;
    Unlike one = difference("order", "Order of the repeats", referenceFirst ? "all first" : "all last",
                            referenceFirst ? "all last" : "all first", Notable,
                            "a machine that drifts meanwhile looks like a gain or a loss");
    const RepeatGroup &earlier = referenceFirst ? pair.reference : pair.run,
                      &later = referenceFirst ? pair.run : pair.reference;
    std::vector<const RunOutcome *> half;
    for (std::size_t i = earlier.runs.size() / 2; i < earlier.runs.size(); ++i)
        half.push_back(&earlier.runs[i]);
    one.finding.control =
        again(earlier, half, "after " + later.name,
              "then it has repeats on both sides of " + later.name + "'s, and a drift shows in both.");
    out.push_back(std::move(one));
}

} // namespace

bool names(const std::vector<Unlike> &differences, std::string_view key) {
    return std::any_of(differences.begin(), differences.end(),
                       [&](const Unlike &one) { return one.finding.key == key; });
}

std::string cutValue(const std::string &value) {
    constexpr std::size_t mostShown = 300;
    return cutUnlike(value, mostShown);
}

std::string sentenceOf(const FairnessFinding &finding, const std::string &consequence) {
    return differenceIn(finding) + ": " + consequence + ".";
}

Unlike difference(std::string key, std::string label, const std::string &reference, const std::string &run,
                  FairnessWeight weight, const std::string &consequence) {
    Unlike out;
    out.finding = {std::move(key), std::move(label), cutValue(reference), cutValue(run), weight, {}, {}};
    out.finding.sentence = sentenceOf(out.finding, consequence);
    return out;
}

std::vector<Unlike> conditionDifferences(const Pair &pair, const std::vector<Unlike> &settings) {
    Unlikes out;
    compareMachines(pair, out);
    compareFiles(pair, settings, out);
    comparePrograms(pair, out);
    compareAccuracy(pair, settings, out);
    compareWork(pair, settings, out);
    compareThrottling(pair, out);
    compareGuests(pair, out);
    compareSideBySide(pair, out);
    compareOrder(pair, out);
    return out;
}

} // namespace lockstep::core::fairness

namespace lockstep::core {

std::string whyWorkUnknown(const RepeatGroup &reference, const RepeatGroup &run) {
    struct Reading {
        const char *what;
        Figure figure;
    };
    for (const Reading &reading : {Reading{"samples it has seen", samplesSeen}, Reading{"steps it has made", stepsMade},
                                   Reading{"epochs it has made", epochsMade}}) {
        const auto unknownOf = [&](const RepeatGroup &group) {
            return group.runs.size() - figuresOf(group, reading.figure).size();
        };
        const std::size_t unknown = unknownOf(reference) + unknownOf(run);
        if (unknown == 0)
            return {}; // compared
        if (unknown == reference.runs.size() + run.runs.size())
            continue; // nobody reported it
        const RepeatGroup &lacking = unknownOf(run) > 0 ? run : reference;
        return std::string("how many ") + reading.what + " is unknown for " + std::to_string(unknownOf(lacking)) +
               " of " + std::to_string(lacking.runs.size()) + " repeats of " + lacking.name +
               ", but known for others, so a gain may be less work. A run's log has it if the script reports it: "
               "run.step(loss, samples)";
    }
    return {};
}

} // namespace lockstep::core
