// SPDX-License-Identifier: MIT
#include "analysis/fairness/fairness.h"

#include <algorithm>
#include <functional>

#include "analysis/compare/cause_words.h"
#include "analysis/compare/counted_groups.h"
#include "analysis/compare/row_figures.h"
#include "analysis/fairness/fairness_detail.h"
#include "analysis/fairness/runs_beside.h"
#include "analysis/fairness/setting_factors.h"
#include "experiment/plan.h"
#include "experiment/run_names.h"

namespace lockstep::core {
namespace {

using fairness::Settled;
using fairness::Unlike;

/// A plan chooses the cores of loading threads; only whether there are some matters.
bool isSameWork(const RunConfig &a, const RunConfig &b) {
    if (a.method != b.method || a.workers != b.workers || a.batchSize != b.batchSize || a.devices != b.devices)
        return false; // fast path: each pair is compared with a thousand groups
    RunConfig own = b;
    own.saveFinal = a.saveFinal;
    if (!a.workerCores.empty() && !b.workerCores.empty())
        own.workerCores = a.workerCores;
    return own == a;
}

const RepeatGroup *groupOf(const RunConfig &config, bool script, const std::vector<RepeatGroup> &groups) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const RepeatGroup &group) {
        return !group.runs.empty() && group.runs.front().config && isSameWork(config, *group.runs.front().config) &&
               isScript(group) == script;
    });
    return found == groups.end() ? nullptr : &*found;
}

/// Keys that adopt() may change for a key.
std::vector<std::string> adoptedKeys(const std::string &key) {
    return key == "batch_size"               ? std::vector<std::string>{"batch_size", "batch_per_device"}
           : key == "lr" || key == "lr_rule" ? std::vector<std::string>{"lr", "lr_rule"}
           : key == "workers"                ? std::vector<std::string>{"workers", "worker_cores"}
                                             : std::vector<std::string>{key};
}

/// "baseline, item loader" with the batch loader is "baseline, batch loader".
void renameControl(SuggestedRun &control, const RunConfig &before, std::string_view key) {
    const std::string old = ", " + settingText(before, key), now = ", " + settingText(control.config, key);
    const std::size_t at = control.name.find(old);
    const bool whole =
        at != std::string::npos && (at + old.size() == control.name.size() || control.name[at + old.size()] == ',');
    if (whole)
        control.name.replace(at, old.size(), now);
    else
        control.name += now;
}

/// ": 1.31× (1.20-1.43) by training time"; empty while that is not known of both.
std::string timesAndRange(const RepeatGroup &reference, const RepeatGroup &run) {
    const auto speedUp = speedUpBy(trainingTimeOf, reference, run, countedOf(reference, run));
    if (!speedUp)
        return {};
    const std::string range = rangeText(speedUp);
    return ": " + timesText(speedUp->factor) + (range.empty() ? "" : " (" + range + ")") + " by training time";
}

/// One run settles all differences of its kind at once: `base`'s group with the other's settings. Where that is one of the two
/// itself, nothing but these settings differs, and there is no third run to compare with.
void addControl(const RepeatGroup &base, const RepeatGroup &other, Settled kind, const std::vector<RepeatGroup> &others,
                std::vector<Unlike> &differences) {
    const auto &from = base.runs.front().config, &to = other.runs.front().config;
    if (!from || !to)
        return;
    SuggestedRun control{base.name, "Removes this difference.", *from, base.command, base.runs.front().claims};
    std::vector<std::string> adopted;
    for (const Unlike &one : differences) {
        if (one.settled != kind)
            continue;
        for (std::string &key : adoptedKeys(one.finding.key))
            adopted.push_back(std::move(key));
        fairness::adopt(control.config, *to, one.finding.key);
        renameControl(control, *from, one.finding.key == "lr_rule" ? "lr" : one.finding.key);
    }
    const bool script = isScript(base);
    if (adopted.empty() || isSameWork(control.config, *from) ||
        (isSameWork(control.config, *to) && isScript(other) == script) ||
        !validate(control.config, Descriptions::Leave).empty() || !takesChange(base, adopted, control.config))
        return;
    const RepeatGroup *there = groupOf(control.config, script, others);
    const std::string factor = !there                         ? std::string()
                               : kind == Settled::ByReference ? timesAndRange(*there, other)
                                                              : timesAndRange(other, *there);
    for (Unlike &one : differences) {
        if (one.settled != kind)
            continue;
        if (there)
            one.finding.sentence += " " + there->name + " is the one to compare with" + factor + ".";
        else
            one.finding.control = control;
    }
}

} // namespace

std::string_view toString(FairnessWeight weight) {
    switch (weight) {
    case FairnessWeight::Minor:
        return "minor";
    case FairnessWeight::Notable:
        return "notable";
    case FairnessWeight::Decisive:
        break;
    }
    return "decisive";
}

std::string_view meaningOf(FairnessWeight weight) {
    switch (weight) {
    case FairnessWeight::Minor:
        return "hardly moves a time";
    case FairnessWeight::Notable:
        return "can move a time by more than the repeats spread";
    case FairnessWeight::Decisive:
        break;
    }
    return "other work or other means: the speed-up does not say what it seems to";
}

bool isVaried(const std::vector<std::string> &varies, std::string_view key) {
    const auto holds = [&](std::string_view one) { return std::ranges::find(varies, one) != varies.end(); };
    const bool named =
        holds(key) || (key == "batch_size" && holds("batch_per_device")) || (key == "lr_rule" && holds("lr"));
    return named && !isOfOtherWork(key);
}

std::vector<FairnessFinding> fairnessOf(const RepeatGroup &reference, const RepeatGroup &run,
                                        const std::vector<std::string> &varies,
                                        const std::vector<RepeatGroup> &others) {
    std::vector<const RepeatGroup *> all{&reference, &run};
    for (const RepeatGroup &other : others)
        all.push_back(&other);
    return fairnessOf(reference, run, varies, others, RunsBeside(all));
}

std::vector<FairnessFinding> fairnessOf(const RepeatGroup &reference, const RepeatGroup &run,
                                        const std::vector<std::string> &varies, const std::vector<RepeatGroup> &others,
                                        const RunsBeside &beside) {
    if (reference.runs.empty() || run.runs.empty())
        return {};
    const bool differ = fairness::differInMethod(reference.runs.front(), run.runs.front());
    const fairness::Pair pair{reference, run, varies, others, beside, differ};
    std::vector<Unlike> all = fairness::settingDifferences(pair);
    for (Unlike &one : fairness::conditionDifferences(pair, all))
        all.push_back(std::move(one));
    addControl(reference, run, Settled::ByReference, others, all);
    addControl(run, reference, Settled::ByRun, others, all);
    std::vector<FairnessFinding> out;
    for (Unlike &one : all)
        out.push_back(std::move(one.finding));
    std::ranges::stable_sort(out, std::ranges::greater{}, &FairnessFinding::weight);
    return out;
}

} // namespace lockstep::core
