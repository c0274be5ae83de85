#include "analysis/fairness.h"

#include <algorithm>
#include <functional>

#include "analysis/fairness_detail.h"

namespace lockstep::core {
namespace {

using fairness::Settled;
using fairness::Unlike;

/// Cores of loading threads are numbers that a plan chose: any will do where both have some.
bool isSameWork(const RunConfig &a, const RunConfig &b) {
    if (a.method != b.method || a.workers != b.workers || a.batchSize != b.batchSize || a.devices != b.devices)
        return false; // quickly told: a thousand cells are looked through for each pair
    RunConfig own = b;
    own.saveFinal = a.saveFinal;
    if (!a.workerCores.empty() && !b.workerCores.empty())
        own.workerCores = a.workerCores;
    return own == a;
}

const Cell *cellOf(const RunConfig &config, const std::vector<Cell> &cells) {
    const auto found = std::find_if(cells.begin(), cells.end(), [&](const Cell &cell) {
        return !cell.runs.empty() && cell.runs.front().config && isSameWork(config, *cell.runs.front().config);
    });
    return found == cells.end() ? nullptr : &*found;
}

/// One run settles all differences of its kind at once: `base`'s cell with the other's settings.
void addControl(const Cell &base, const Cell &other, Settled kind, const std::vector<Cell> &others,
                std::vector<Unlike> &differences) {
    const auto &from = base.runs.front().config, &to = other.runs.front().config;
    if (!from || !to)
        return;
    SuggestedRun control{base.name, "Against it, " + other.name + " differs by what was meant only.", *from};
    bool any = false;
    for (const Unlike &one : differences) {
        if (one.settled != kind)
            continue;
        any = true;
        fairness::adopt(control.config, *to, one.finding.key);
        const FieldSpec *field = findField(one.finding.key);
        if (one.finding.key == "lr_rule")
            field = findField("lr");
        control.name += ", " + std::string(field->key) + " " + field->get(control.config);
    }
    if (!any || !validate(control.config).empty())
        return;
    const Cell *there = cellOf(control.config, others);
    for (Unlike &one : differences) {
        if (one.settled != kind)
            continue;
        if (there)
            one.finding.sentence += " " + there->name + " is the one to compare with.";
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

std::vector<FairnessFinding> fairnessOf(const Cell &reference, const Cell &run, const std::vector<std::string> &varies,
                                        const std::vector<Cell> &others) {
    if (reference.runs.empty() || run.runs.empty())
        return {};
    const fairness::Pair pair{reference, run, varies, others,
                              fairness::differInMethod(reference.runs.front(), run.runs.front())};
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
