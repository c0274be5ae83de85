// SPDX-License-Identifier: MIT
#include "analysis/compare/judgement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/compare/cause_words.h"
#include "analysis/compare/counted_groups.h"
#include "analysis/compare/measured_control.h"
#include "analysis/compare/row_figures.h"
#include "analysis/compare/setting_matters.h"
#include "analysis/compare/settling_rounds.h"
#include "analysis/compare/tested_accuracy.h"
#include "analysis/compare/verdict.h"
#include "analysis/fairness/runs_beside.h"
#include "analysis/history/run_facts.h"
#include "base/format.h"
#include "ipc/median.h"

namespace lockstep::core {
namespace {

constexpr double attributedEnough = 0.05; ///< more than that unattributed is a reservation

std::vector<double> valuesOf(const RepeatGroup &group, std::optional<double> (*get)(const RunOutcome &)) {
    std::vector<double> out;
    for (const RunOutcome &run : group.runs)
        if (const std::optional<double> value = get(run))
            out.push_back(*value);
    return out;
}

std::optional<double> lossOf(const RunOutcome &run) {
    return run.finalLoss;
}

int devicesOf(const RepeatGroup &group, const ResultTable &table) {
    for (const ResultRow &row : table.rows)
        if (!row.published && row.name == group.name)
            return std::max(1, row.devices);
    return 1;
}

std::optional<double> accuracyDifferenceOf(const RepeatGroup &reference, const RepeatGroup &run) {
    const ComparedAccuracies found = comparedAccuracies(reference, run);
    const auto before = median(found.reference), after = median(found.run);
    return before && after ? std::optional(*after - *before) : std::nullopt;
}

std::optional<double> differenceOf(const RepeatGroup &reference, const RepeatGroup &run,
                                   std::optional<double> (*get)(const RunOutcome &)) {
    const auto before = median(valuesOf(reference, get)), after = median(valuesOf(run, get));
    return before && after ? std::optional(*after - *before) : std::nullopt;
}

/// Whether more than the device count differs in work or means: then no efficiency is reported. What disturbed the machine and what was
/// learnt are said beside it. Loading workers usually come with each device in DDP, so they do not count as a difference until they lift
/// efficiency over 100 %.
bool hasOtherMeans(const std::vector<FairnessFinding> &findings, bool weakScaling) {
    static constexpr std::array<std::string_view, 6> besides = {"load",       "stolen",  "watching",
                                                                "throttling", "workers", "accuracy"};
    return std::ranges::any_of(findings, [&](const FairnessFinding &finding) {
        return finding.weight == FairnessWeight::Decisive && std::ranges::find(besides, finding.key) == besides.end() &&
               !(weakScaling && finding.key == "batch_size");
    });
}

/// Whether each device has as many samples a step in both: then a larger batch is more devices and nothing else.
bool isWeakScaling(const RepeatGroup &reference, const RepeatGroup &run, const PairDevices &devices) {
    const auto batchPerDevice = [](const RepeatGroup &group, int deviceCount) {
        const RunOutcome &one = group.runs.front();
        if (one.config && !one.script)
            return double(globalBatch(*one.config)) / deviceCount;
        const RunFacts facts = factsOf(one);
        const auto batch = facts.find("batch_size");
        return batch == facts.end() ? 0.0 : QString::fromStdString(batch->second).toDouble() / deviceCount;
    };
    const double ofReference = batchPerDevice(reference, devices.reference), ofRun = batchPerDevice(run, devices.run);
    return ofReference > 0 && ofReference == ofRun;
}

std::optional<double> fairEfficiency(double factor, const PairDevices &devices,
                                     const std::vector<FairnessFinding> &findings, bool weakScaling) {
    const std::optional<double> each = efficiencyOf(factor, devices);
    const bool workers = std::ranges::any_of(findings, [](const FairnessFinding &f) { return f.key == "workers"; });
    return hasOtherMeans(findings, weakScaling) || (workers && each > 1) ? std::nullopt : each;
}

/// What a pair is judged beside.
struct Company {
    const std::vector<RepeatGroup> &groups;
    const MeasuredGroups &measured; ///< the same, by what they were measured with
    const std::vector<std::string> &varies;
    const RunsBeside &beside;
};

/// Those beside the training's.
void addOtherFactors(const RepeatGroup &reference, const RepeatGroup &run, const Company &company,
                     const std::optional<CountedRepeats> &counted, PairJudgement &out) {
    out.epoch = speedUpBy(laterEpochS, reference, run, counted);
    if (beginAlike(commonFirstEpoch(reference.runs), commonFirstEpoch(run.runs)) &&
        timedAlike(commonSpan(reference.runs), commonSpan(run.runs)))
        out.wholeRun = speedUpBy(wholeTimeOf, reference, run, counted);
    if (out.disturbedRounds.empty()) // else the load that differed most does not count any more
        out.adjusted = adjustedFactorOf(reference, run, company.groups);
}

PairJudgement judgePair(const RepeatGroup &reference, const RepeatGroup &run, const PairDevices &devices,
                        const Company &company) {
    const std::optional<CountedRepeats> counted = countedOf(reference, run);
    PairJudgement out;
    out.reference = reference.name;
    out.run = run.name;
    out.devices = devices.run;
    out.training = speedUpBy(trainingTimeOf, reference, run, counted);
    out.accuracyDifference = accuracyDifferenceOf(reference, run);
    out.lossDifference = differenceOf(reference, run, lossOf);
    if (counted)
        out.disturbedRounds = roundsLeftOut(reference, run, *counted);
    out.fairness = fairnessOf(withoutRounds(reference, out.disturbedRounds), withoutRounds(run, out.disturbedRounds),
                              company.varies, company.groups, company.beside);
    out.otherWork = hasOtherWork(out);
    if (!out.otherWork)
        addOtherFactors(reference, run, company, counted, out);
    if (out.training)
        out.efficiency =
            fairEfficiency(out.training->factor, devices, out.fairness, isWeakScaling(reference, run, devices));
    out.otherEpochs = whyOtherEpochs(reference, run);
    if (out.otherEpochs.empty())
        out.attribution = attribute(reference, run, company.measured);
    return out;
}

/// The comparisons of runs that can't be compared fairly with the reference with controls that can.
std::vector<PairJudgement> controlledPairs(const std::vector<PairJudgement> &pairs, const Company &company) {
    std::vector<PairJudgement> out;
    for (const PairJudgement &pair : pairs)
        if (const PairJudgement *control = controlInstead(company.measured, pairs, pair)) {
            out.push_back(judgePair(*findGroup(company.groups, control->run), *findGroup(company.groups, pair.run),
                                    {control->devices, pair.devices}, company));
            if (!out.back().training)
                out.pop_back();
        }
    return out;
}

/// Each kind of speed-up is a family of its own: all runs against the one reference, or against controls.
void decideFamilies(std::vector<PairJudgement> &pairs) {
    for (const auto kind : {&PairJudgement::training, &PairJudgement::epoch, &PairJudgement::wholeRun}) {
        std::vector<SpeedUp *> family;
        for (PairJudgement &pair : pairs)
            if (pair.*kind)
                family.push_back(&*(pair.*kind));
        decideTogether(family);
    }
}

/// One more round of the experiment; without one, one more repeat of both. Launch to exit.
std::optional<double> roundTimeOf(const ResultTable &table, const RepeatGroup &reference,
                                  const std::vector<RepeatGroup> &groups, const std::string &run) {
    if (table.roundS)
        return table.roundS;
    const auto group = std::ranges::find(groups, run, &RepeatGroup::name);
    const auto before = median(valuesOf(reference, wholeTimeOf)), after = median(valuesOf(*group, wholeTimeOf));
    return before && after ? std::optional(*before + *after) : std::nullopt;
}

/// No repeat settles a comparison of other work: that with a control takes its place.
std::optional<SuggestedRun> roundsForAll(const ResultTable &table, const Judgement &judgement) {
    std::vector<Settling> open;
    int lacking = 0; // until every comparison has an interval
    const auto add = [&](const PairJudgement &pair) {
        if (pair.settling)
            open.push_back(*pair.settling);
        if (pair.training)
            lacking = std::max(lacking, lackingRepeats(*pair.training));
    };
    std::set<std::string> ofOtherWork;
    for (const PairJudgement &pair : judgement.pairs)
        if (pair.otherWork)
            ofOtherWork.insert(pair.run);
        else
            add(pair);
    for (const PairJudgement &pair : judgement.controlled)
        if (!pair.otherWork && ofOtherWork.contains(pair.run))
            add(pair);
    return settlingRounds(table, open, lacking);
}

std::string listed(const std::vector<std::string> &names) {
    constexpr std::size_t most = 3;
    std::string out;
    for (std::size_t i = 0; i < names.size() && i < most; ++i)
        out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return names.size() > most ? out + " and " + std::to_string(names.size() - most) + " more" : out;
}

/// A sentence for each thing, with the runs it is true of.
class Reservations {
public:
    /// `ofSeveral`: what is said in the sentence's place when it is true of several runs, whose values may be unlike.
    void add(const std::string &key, const std::string &run, const std::string &sentence,
             const std::string &ofSeveral = {}) {
        for (Entry &entry : m_entries)
            if (entry.key == key)
                return entry.runs.push_back(run);
        m_entries.push_back({key, sentence, ofSeveral.empty() ? sentence : ofSeveral, {run}});
    }
    [[nodiscard]] std::vector<std::string> take() const {
        std::vector<std::string> out;
        for (const Entry &entry : m_entries)
            out.push_back(listed(entry.runs) + ": " + (entry.runs.size() > 1 ? entry.ofSeveral : entry.sentence));
        return out;
    }

private:
    struct Entry {
        std::string key, sentence, ofSeveral;
        std::vector<std::string> runs;
    };
    std::vector<Entry> m_entries;
};

/// Whether load weighs in a comparison: named as a difference, or borne by all runs.
bool isLoaded(const Judgement &judgement, const PairJudgement &pair) {
    return !judgement.sharedLoads.empty() || std::ranges::any_of(pair.fairness, [](const FairnessFinding &finding) {
        return (finding.key == "load" || finding.key == "stolen") && finding.weight != FairnessWeight::Minor;
    });
}

void addConditions(const Judgement &judgement, Reservations &out) {
    for (const SharedLoad &load : judgement.sharedLoads)
        out.add("all " + load.key, "All runs", load.sentence);
    for (const PairJudgement &pair : judgement.pairs)
        if (pair.adjusted && isLoaded(judgement, pair))
            out.add("adjusted " + pair.run, pair.run, sentenceOf(*pair.adjusted) + ".");
    for (const OrderEffect &effect : judgement.orderEffects)
        if (!effect.sentence.empty())
            out.add("order " + effect.key, "All runs", effect.sentence);
}

/// What does not count in a comparison: rounds in which other programs were busy, a repeat that no scatter explains.
void addNotCounted(const PairJudgement &pair, Reservations &out) {
    if (!pair.training)
        return;
    if (const auto &disturbance = pair.training->disturbance) {
        const std::string then =
            disturbance->isLeftOut()
                ? ": speed-ups and causes are of the other rounds, times in tables are of all."
                : ": fewer than three other rounds are left, so all count, and nothing is settled.";
        out.add("disturbed " + busyText(*disturbance) + then, pair.run,
                busyText(*disturbance) + " (" + coresText(disturbance->cores).toStdString() +
                    " more than in the quietest)" + then,
                busyText(*disturbance) + then);
    }
    if (const auto &leftOut = pair.training->leftOut) {
        const std::string repeat =
            "repeat " + std::to_string(leftOut->number) + " of " + (leftOut->ofFirst ? pair.reference : pair.run);
        out.add("left out " + repeat, pair.run,
                repeat + " took " + significant(std::exp(leftOut->above), 3).toStdString() +
                    " times as long as its others, which their scatter doesn't explain: it is left out of the "
                    "speed-ups and their causes.");
    }
}

/// A training that is faster may end no sooner.
void addWholeRun(const PairJudgement &pair, Reservations &out) {
    const auto isFaster = [](const SpeedUp &one) { return one.isDifferent() && one.factor > 1; };
    if (!pair.training || !pair.wholeRun || !pair.wholeRun->hasInterval() || !isFaster(*pair.training) ||
        isFaster(*pair.wholeRun))
        return;
    out.add("launch to exit " + pair.run, pair.run,
            "launch to exit it is not faster: " + timesText(pair.wholeRun->factor) + " (" + rangeText(pair.wholeRun) +
                (pair.wholeRun->isDifferent() ? "). What its training saves, it loses before and after it."
                                              : "). What its training saves is not told apart there."));
}

/// Repeats that failed are in no figure.
void addFailed(const ResultTable &table, Reservations &out) {
    for (const ResultRow &row : table.rows)
        if (!row.failed.empty() && row.repeats > 0)
            out.add("failed " + row.name, row.name,
                    std::to_string(row.failed.size()) + " of " + std::to_string(row.planned) +
                        " repeats failed; its figures are of those that did not.");
}

/// What they measured is unknown, though the other repeats may be enough for figures.
void addDisputed(const ResultTable &table, Reservations &out) {
    for (const ResultRow &row : table.rows)
        for (const std::string &dispute : row.disputes)
            out.add("disputed " + dispute, row.name, dispute + ".");
}

/// The groups without rounds that no comparison counts because other programs were busy.
std::vector<RepeatGroup> withoutDisturbance(const std::vector<RepeatGroup> &groups,
                                            const std::vector<PairJudgement> &pairs) {
    std::vector<std::string> rounds;
    for (const PairJudgement &pair : pairs)
        rounds.insert(rounds.end(), pair.disturbedRounds.begin(), pair.disturbedRounds.end());
    std::vector<RepeatGroup> out;
    for (const RepeatGroup &group : groups)
        out.push_back(withoutRounds(group, rounds));
    return out;
}

/// The reference's value in each kind of finding; empty where comparisons that leave out other repeats have another one.
std::map<std::string, std::string> referenceValues(const std::vector<PairJudgement> &pairs) {
    std::map<std::string, std::string> out;
    for (const PairJudgement &pair : pairs)
        for (const FairnessFinding &finding : pair.fairness) {
            const auto [value, isNew] = out.try_emplace(finding.key, finding.reference);
            if (!isNew && value->second != finding.reference)
                value->second.clear();
        }
    return out;
}

/// The command that adds what the comparison's line offers.
void addRoundsCommand(const ResultTable &table, const Judgement &judgement, const PairJudgement &pair,
                      Reservations &out) {
    const std::optional<SuggestedRun> rounds =
        pair.settling->quietLacking > 0 ? quietRounds(table, *pair.training) : judgement.settling;
    if (!rounds)
        return;
    const std::string count = std::to_string(rounds->rounds);
    out.add("rounds " + count, pair.run,
            "lockstepctl repeat " + rounds->experiment + " " + count + " adds " + rounds->name + ".");
}

enum class Beside { Nothing, FindingsAndButtons };

/// `beside`: what stands there already and needs no second word.
std::vector<std::string> reservationsOf(const ResultTable &table, const std::vector<RepeatGroup> &groups,
                                        const Judgement &judgement, Beside beside) {
    static const std::vector<PairJudgement> none;
    const std::vector<PairJudgement> &pairs = judgement.pairs;
    const std::vector<PairJudgement> &unsaid = beside == Beside::Nothing ? pairs : none;
    Reservations out;
    const std::map<std::string, std::string> values = referenceValues(unsaid);
    for (const FairnessWeight weight : {FairnessWeight::Decisive, FairnessWeight::Notable})
        for (const PairJudgement &pair : unsaid)
            for (const FairnessFinding &finding : pair.fairness)
                if (finding.weight == weight) {
                    const std::string &value = values.at(finding.key);
                    out.add(finding.key, pair.run, finding.sentence,
                            finding.key == "load"
                                ? "other programs were busy: timings are unreliable."
                                : finding.label + " not as in " + pair.reference +
                                      (value.empty() ? "" : " (" + value + ")") + ", see each comparison.");
                }
    addConditions(judgement, out);
    addFailed(table, out);
    addDisputed(table, out);
    for (const RepeatGroup &group : groups) {
        if (int(group.runs.size()) < repeatsForInterval)
            out.add("repeats", group.name, "fewer than 3 repeats: no interval, and a few percent can be chance.");
        const auto diverged =
            std::ranges::find_if(group.runs, [](const RunOutcome &run) { return !run.divergence.empty(); });
        if (diverged != group.runs.end())
            out.add("diverged " + group.name, group.name,
                    diverged->divergence + " in repeat " + std::to_string(diverged->repeat) +
                        "; its times count, what it learnt may not.");
        const auto restarted = std::ranges::find_if(group.runs, [](const RunOutcome &run) { return run.restarts > 0; });
        if (restarted != group.runs.end())
            out.add("restarted " + group.name, group.name,
                    "ranks failed and were started again in repeat " + std::to_string(restarted->repeat) +
                        "; what was lost counts in its run time alone.");
        if (std::ranges::any_of(group.runs, &RunOutcome::oversubscribed))
            out.add("oversubscribed", group.name, "devices shared cores, so its times are not comparable.");
    }
    for (const PairJudgement &pair : pairs) {
        addNotCounted(pair, out);
        addWholeRun(pair, out);
    }
    for (const PairJudgement &pair : unsaid)
        if (pair.settling)
            out.add("settling " + pair.run, pair.run, settlingText(*pair.settling));
    for (const PairJudgement &pair : unsaid)
        if (pair.settling)
            addRoundsCommand(table, judgement, pair, out);
    for (const PairJudgement &pair : pairs) {
        if (!pair.otherEpochs.empty())
            out.add("other epochs", pair.run, pair.otherEpochs + " No cause is named.",
                    "not all of their epochs were made here, so no cause is named.");
        if (!pair.attribution)
            continue;
        const bool apart = pair.training && (pair.training->isDifferent() || !pair.training->hasInterval());
        if (const double share = pair.attribution->unattributedShare(); apart && share > attributedEnough)
            out.add("unattributed", pair.run,
                    percent(share, 0).toStdString() + " of the difference from " + pair.reference +
                        " can't be attributed.");
        for (const std::string &note : pair.attribution->notes) {
            const bool ofRun = note.starts_with(pair.run + " "); // whose name stands before it already
            out.add(note, pair.run, ofRun ? "it" + note.substr(pair.run.size()) : note);
        }
    }
    return out.take();
}

/// Whether the runs are of our own trainer and have all settings in common but this one, paths and seeds aside.
bool differOnlyIn(const std::string &key, const std::vector<RepeatGroup> &groups) {
    using enum FieldEffect;
    const auto alike = [&](const RunConfig &a, const RunConfig &b) {
        return std::ranges::all_of(runConfigFields(), [&](const FieldSpec &field) {
            const bool besides = field.effect == None || field.effect == Chance || field.effect == Route;
            return field.key == key || besides || effectiveValue(field, a) == effectiveValue(field, b);
        });
    };
    return !groups.empty() && std::ranges::all_of(groups, [&](const RepeatGroup &group) {
        const RunOutcome &own = group.runs.front(), &first = groups.front().runs.front();
        return group.command.empty() && !own.script && own.config && first.config && alike(*own.config, *first.config);
    });
}

} // namespace

Judgement judge(const ResultTable &table, const std::vector<RunOutcome> &outcomes,
                const std::vector<std::string> &varies) {
    Judgement out;
    out.reference = table.reference;
    const std::vector<RepeatGroup> groups = groupsOf(table, outcomes);
    const MeasuredGroups measured(groups);
    const RunsBeside beside(groups);
    const Company company{groups, measured, varies, beside};
    const auto reference = std::ranges::find_if(groups, &RepeatGroup::reference);
    for (const RepeatGroup &group : groups) {
        if (reference != groups.end() && !group.reference)
            out.pairs.push_back(
                judgePair(*reference, group, {devicesOf(*reference, table), devicesOf(group, table)}, company));
        out.bottlenecks.push_back(bottleneckOf(group, measured));
    }
    decideFamilies(out.pairs);
    out.controlled = controlledPairs(out.pairs, company);
    decideFamilies(out.controlled);
    for (auto *pairs : {&out.pairs, &out.controlled})
        for (PairJudgement &pair : *pairs)
            if (pair.training && !pair.otherWork)
                pair.settling = settlingOf(*pair.training, roundTimeOf(table, *reference, groups, pair.run));
    out.settling = roundsForAll(table, out);
    const std::vector<RepeatGroup> quiet = withoutDisturbance(groups, out.pairs);
    out.sharedLoads = sharedLoadsOf(quiet);
    out.orderEffects = orderEffectsOf(quiet);
    VerdictLines head = verdictLines(table, groups, out, varies);
    out.lines = std::move(head.lines);
    out.moreRuns = head.more;
    out.publishedCause = publishedCause(table, groups);
    out.sentence = verdictSentence(groups, out);
    if (!out.sentence.empty() && !out.publishedCause.empty())
        out.sentence += " " + out.publishedCause;
    if (varies.size() == 1 && differOnlyIn(varies.front(), groups))
        out.matters = whetherItMatters(varies.front(), out.pairs);
    out.reservations = reservationsOf(table, groups, out, Beside::Nothing);
    out.otherReservations = reservationsOf(table, groups, out, Beside::FindingsAndButtons);
    return out;
}

ResultTable judged(ResultTable table, const Judgement &judgement) {
    table.verdict = judgement.sentence;
    table.reservations = judgement.reservations;
    for (const PairJudgement &pair : judgement.pairs)
        for (ResultRow &row : table.rows)
            if (!row.published && row.name == pair.run) {
                takePair(pair, row);
                row.efficiency = pair.efficiency;
                for (const FairnessFinding &finding : pair.fairness)
                    if (finding.weight != FairnessWeight::Minor)
                        row.notes.push_back("unfair against " + pair.reference + " (" +
                                            std::string(toString(finding.weight)) + "): " + differenceIn(finding));
            }
    return table;
}

} // namespace lockstep::core
