// SPDX-License-Identifier: MIT
#include "judgement_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/compare/row_figures.h"
#include "analysis/compare/verdict.h"
#include "base/format.h"
#include "output.h"
#include "queue/queue_request.h"
#include "queue/slurm/slurm_experiment.h"

namespace lockstep::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string withSign(double value) {
    return (value > 0 ? "+" : "") + number(value);
}

std::string intervalOf(const std::optional<core::SpeedUp> &speedUp) {
    if (!speedUp)
        return "-";
    const std::string factor = core::factorText(speedUp->factor).toStdString() + "×";
    return factor + " (" + (speedUp->hasInterval() ? core::rangeText(speedUp) : "-") + ")";
}

/// None of other work.
std::string factorOf(const core::PairJudgement &pair, const std::optional<core::SpeedUp> &speedUp) {
    return pair.otherWork ? "-" : intervalOf(speedUp);
}

std::string differenceOf(const std::optional<core::SpeedUp> &speedUp) {
    if (speedUp && speedUp->hasInterval() && speedUp->isDifferent())
        return speedUp->factor > 1 ? "faster" : "slower";
    return speedUp && speedUp->hasInterval() && speedUp->isEqual()
               ? "equal " + core::equalWithinText()
               : std::string(core::toString(core::Outcome::CantTell));
}

std::string methodOf(const std::optional<core::SpeedUp> &speedUp) {
    return speedUp && speedUp->hasInterval() ? std::string(core::toString(speedUp->method)) : "-";
}

std::string repeatsOf(const std::optional<core::SpeedUp> &speedUp) {
    return speedUp ? std::to_string(speedUp->referenceRepeats) + ", " + std::to_string(speedUp->runRepeats) : "-";
}

std::string speedUpsText(const core::Judgement &judgement, const ShownRows &shown) {
    Rows rows = {{"against " + judgement.reference, "training", "interval", "difference", "epoch", "launch to exit",
                  "efficiency", "accuracy", "loss", "repeats"}};
    int leftOut = 0;
    for (const core::PairJudgement &pair : judgement.pairs)
        if (!shown.has(pair.run))
            ++leftOut;
        else
            rows.push_back({pair.run, factorOf(pair, pair.training), pair.otherWork ? "-" : methodOf(pair.training),
                            pair.otherWork ? core::otherWorkText : differenceOf(pair.training),
                            factorOf(pair, pair.epoch), factorOf(pair, pair.wholeRun),
                            core::percent(pair.efficiency, 0).toStdString(),
                            pair.accuracyDifference ? withSign(*pair.accuracyDifference * 100) + " points" : "-",
                            pair.lossDifference ? withSign(*pair.lossDifference) : "-", repeatsOf(pair.training)});
    return rows.size() > 1 ? "Speed-ups with 95 % intervals\n" + aligned(rows) + moreLine(leftOut) : std::string();
}

/// Experiments as they were recorded, each read once: a document of a thousand runs has many megabytes, and many findings name it.
class ReadExperiments {
public:
    /// Null: it is gone, or can't be read.
    const core::Experiment *find(const std::string &id) {
        const auto [at, isNew] = m_byId.try_emplace(id);
        if (isNew)
            if (auto read = core::readExperiment(id))
                at->second = std::move(*read);
        return at->second ? &*at->second : nullptr;
    }

private:
    std::map<std::string, std::optional<core::Experiment>> m_byId;
};

/// The commands that repeat runs of an experiment, one line per experiment.
std::string retryText(const std::vector<const core::SuggestedRun *> &controls, ReadExperiments &experiments) {
    std::map<std::string, std::set<std::string>> runs;
    std::set<std::string> alone;
    for (const core::SuggestedRun *control : controls)
        if (!control->experiment.empty()) {
            runs[control->experiment].insert(control->again.begin(), control->again.end());
            if (control->alone)
                alone.insert(control->experiment);
        }
    std::string out;
    for (const auto &[id, again] : runs) {
        if (core::isSlurmExperiment(id)) { // whose queue takes no retry
            out += "      its queue is Slurm's: lockstepctl slurm submit RECIPE --run NUMBER makes it again\n";
            continue;
        }
        const core::Experiment *experiment = experiments.find(id);
        const auto requests = experiment ? core::retriesOf(*experiment, {again.begin(), again.end()}, false)
                                         : std::vector<core::QueueRequest>();
        if (requests.empty()) // queued already, or the experiment is gone
            continue;
        out += "      lockstepctl retry " + id;
        for (const core::QueueRequest &request : requests)
            out += " " + std::to_string(request.entry + 1);
        out += alone.contains(id) ? " --alone\n" : "\n";
    }
    return out;
}

std::string controlText(const core::FairnessFinding &finding, ReadExperiments &experiments) {
    return finding.control ? "    control: " + core::toText(*finding.control) + " - " + finding.control->why + "\n" +
                                 retryText({&*finding.control}, experiments)
                           : std::string();
}

/// What a finding says of some runs: their value, and the reference's beside it.
struct SharedValues {
    std::string reference, run;
    std::vector<std::string> runs;
};

/// For several pairs, in which it weighs alike: the values that differ from the reference's, grouped. Without the rounds that a
/// comparison leaves out, the reference may have another value in each.
std::string kindText(const std::vector<std::pair<std::string, const core::FairnessFinding *>> &found,
                     ReadExperiments &experiments) {
    const core::FairnessFinding &first = *found.front().second;
    std::vector<SharedValues> byValues;
    std::set<std::string> controls;
    std::vector<const core::SuggestedRun *> suggested;
    for (const auto &[run, finding] : found) {
        const auto same = std::ranges::find_if(byValues, [&one = *finding](const SharedValues &values) {
            return values.run == one.run && values.reference == one.reference;
        });
        if (same == byValues.end())
            byValues.push_back({finding->reference, finding->run, {run}});
        else
            same->runs.push_back(run);
        if (finding->control) {
            controls.insert(core::toText(*finding->control));
            suggested.push_back(&*finding->control);
        }
    }
    const bool oneReference =
        std::ranges::all_of(byValues, [&](const SharedValues &values) { return values.reference == first.reference; });
    constexpr std::size_t mostValues = 4; // measured values differ in every run
    std::string out = "  " + std::string(core::toString(first.weight)) + ": " + first.label;
    if (oneReference)
        out += ": " + first.reference + " in the reference";
    for (std::size_t i = 0; i < byValues.size() && i < mostValues; ++i)
        out += (oneReference || i > 0 ? "; " : " ") + byValues[i].run +
               (oneReference ? "" : " instead of " + byValues[i].reference) + " in " + listed(byValues[i].runs);
    if (byValues.size() > mostValues)
        out += "; other values in " + std::to_string(byValues.size() - mostValues) + " more";
    out += "\n";
    if (!controls.empty())
        out += "    controls: " + listed({controls.begin(), controls.end()}) + "\n" + retryText(suggested, experiments);
    return out;
}

/// One line per kind and weight, most severe first; for one pair, or with --all, every finding in full.
std::string fairnessText(const core::Judgement &judgement, bool all) {
    using Kind = std::pair<core::FairnessWeight, std::string>;
    std::vector<Kind> order;
    std::map<Kind, std::vector<std::pair<std::string, const core::FairnessFinding *>>> kinds;
    for (const core::FairnessWeight weight :
         {core::FairnessWeight::Decisive, core::FairnessWeight::Notable, core::FairnessWeight::Minor})
        for (const core::PairJudgement &pair : judgement.pairs)
            for (const core::FairnessFinding &finding : pair.fairness)
                if (finding.weight == weight) {
                    auto &kind = kinds[{weight, finding.key}];
                    if (kind.empty())
                        order.emplace_back(weight, finding.key);
                    kind.emplace_back(pair.run, &finding);
                }
    std::string out;
    ReadExperiments experiments;
    for (const Kind &kind : order) {
        const auto &found = kinds[kind];
        if (found.size() > 1 && !all) {
            out += kindText(found, experiments);
            continue;
        }
        for (const auto &[run, finding] : found)
            out += "  " + run + ", " + std::string(core::toString(finding->weight)) + ": " + finding->sentence + "\n" +
                   controlText(*finding, experiments);
    }
    return out.empty() ? out : "Unintended differences\n" + out;
}

/// A bar scaled to the larger time; saved time extends to the left. `pale`: within chance.
std::string barText(double from, double seconds, double longest, bool pale = false) {
    constexpr int width = 40;
    const auto column = [&](double at) {
        return longest > 0 ? int(std::lround(std::clamp(at / longest, 0.0, 1.0) * width)) : 0;
    };
    const int begin = column(std::min(from, from + seconds)), end = column(std::max(from, from + seconds));
    std::string out(std::size_t(begin), ' ');
    for (int i = begin; i < end; ++i)
        out += pale ? "·" : seconds < 0 ? "░" : "█";
    return out + (begin == end && seconds != 0 ? "|" : "");
}

std::string waterfallText(const core::Attribution &attribution) {
    double longest = attribution.longerS(), at = attribution.referenceS;
    const auto added = [whole = longest](double seconds) { return core::addedSeconds(seconds, whole).toStdString(); };
    for (const core::AttributionBar &bar : attribution.bars)
        longest = std::max(longest, at += bar.seconds);
    Rows rows = {{attribution.reference, core::seconds(attribution.referenceS).toStdString(),
                  barText(0, attribution.referenceS, longest)}};
    at = attribution.referenceS;
    for (const core::AttributionBar &bar : attribution.bars) {
        rows.push_back({"  " + std::string(core::toString(bar.cause)),
                        core::addedSeconds(bar.seconds, bar.reach(), attribution.longerS()).toStdString(),
                        barText(at, bar.seconds, longest, bar.isDoubtful())});
        at += bar.seconds;
    }
    rows.push_back(
        {attribution.run, core::seconds(attribution.runS).toStdString(), barText(0, attribution.runS, longest)});
    std::string out = aligned(rows);
    for (const core::FactorEffect &factor : attribution.factors) {
        out += "  " + factor.label + ": " + added(factor.seconds);
        if (factor.high > factor.low)
            out += " (" + added(factor.low) + " to " + added(factor.high) + " by the order of changes)";
        std::string controls;
        for (const std::string &name : factor.controls)
            controls += (controls.empty() ? "" : "; ") + name;
        out += ", by control runs: " + controls + "\n";
    }
    constexpr std::size_t mostMissing = 3; // the most informative ones; --json has all
    for (std::size_t i = 0; i < attribution.missing.size() && i < mostMissing; ++i) {
        const core::SuggestedRun &missing = attribution.missing[i];
        out += "  missing control: " + missing.name + " - " + missing.why + "\n";
    }
    return out;
}

/// All pairs; of many, only the largest gain and the largest loss.
std::vector<const core::PairJudgement *> drawn(const core::Judgement &judgement, bool all) {
    constexpr std::size_t most = 4;
    std::vector<const core::PairJudgement *> out;
    for (const core::PairJudgement &pair : judgement.pairs)
        if (pair.attribution)
            out.push_back(&pair);
    if (all || out.size() <= most)
        return out;
    std::ranges::stable_sort(out, {}, [](const core::PairJudgement *pair) { return pair->attribution->runS; });
    return out.back()->attribution->runS > out.back()->attribution->referenceS ? std::vector{out.front(), out.back()}
                                                                               : std::vector{out.front()};
}

std::string bottlenecksText(const core::Judgement &judgement, const ShownRows &shown) {
    std::string out;
    int leftOut = 0;
    for (const core::Bottleneck &bottleneck : judgement.bottlenecks) {
        if (!shown.has(bottleneck.run)) {
            ++leftOut;
            continue;
        }
        out += "  " + bottleneck.run + ": " + std::string(core::toString(bottleneck.bound)) + ". " +
               bottleneck.evidence + "\n";
        for (const core::SuggestedRun &tip : bottleneck.tips)
            out += "    try " + tip.name + " - " + tip.why + "\n";
    }
    out += moreLine(leftOut);
    return out.empty() ? out : "What bounds each run\n" + out;
}

} // namespace

std::string verdictText(const core::ResultTable &table, const core::Judgement &judgement) {
    Rows rows;
    for (const core::VerdictLine &line : judgement.lines)
        rows.push_back(
            {core::nameOf(line), std::string(core::toString(line.outcome)), core::figuresText(line), line.reason});
    std::string out = rows.empty() ? std::string() : aligned(rows) + "\n";
    out += (judgement.sentence.empty() ? core::noVerdictText(table) : judgement.sentence) + "\n";
    for (const std::string &reservation : judgement.reservations)
        out += "! " + reservation + "\n";
    return out;
}

std::string judgementText(const core::Judgement &judgement, const ShownRows &shown, bool all) {
    std::string out;
    const auto add = [&out](const std::string &part) { out += (out.empty() || part.empty() ? "" : "\n") + part; };
    add(speedUpsText(judgement, shown));
    add(fairnessText(judgement, all));
    const std::vector<const core::PairJudgement *> pairs = drawn(judgement, all);
    for (const core::PairJudgement *one : pairs)
        if (const core::PairJudgement &pair = *one; pair.attribution)
            add("From " + pair.reference + " to " + pair.run + ", " + pair.attribution->span() + "\n" +
                waterfallText(*pair.attribution));
    if (pairs.size() < judgement.pairs.size())
        out += "and " + std::to_string(judgement.pairs.size() - pairs.size()) + " more: --all\n";
    add(bottlenecksText(judgement, shown));
    return out;
}

} // namespace lockstep::cli
