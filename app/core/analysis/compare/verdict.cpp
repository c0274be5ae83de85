// SPDX-License-Identifier: MIT
#include "analysis/compare/verdict.h"

#include <algorithm>

#include "analysis/causes/phase_parts.h"
#include "analysis/compare/cause_words.h"
#include "analysis/compare/row_figures.h"
#include "analysis/compare/verdict_lines.h"
#include "base/format.h"
#include "ipc/run_title.h"

namespace lockstep::core {
namespace {

constexpr double loadingMatters = 0.20; ///< of training time: as for input-bound (bottleneck.h)
constexpr double publishedGain = 1.25;  ///< a published control with workers that is faster by this blames loading

bool isSaid(const VerdictLine &line) {
    return !line.contrast && (line.speedUp || line.outcome == Outcome::CantTell || line.outcome == Outcome::Failed);
}

/// "worth it, 1.74× as fast as baseline (1.70-1.78)", "can't tell yet whether it differs from baseline (0.98-1.07)". `first`: the first
/// such factor over the reference.
std::string outcomeAndFactor(const VerdictLine &line, bool first) {
    const SpeedUp &measured = *line.speedUp;
    const std::string outcome(toString(line.outcome));
    const std::string range = measured.hasInterval() ? " (" + rangeText(measured) + ")" : "";
    const std::string undecided = undecidedText(measured, line.against);
    if (measured.isEqual())
        return outcome + ", " + undecided + range;
    if (line.outcome == Outcome::CantTell && !undecided.empty()) {
        const bool oneOfMany = measured.leavesOutOne() && !measured.isUnsettled();
        return undecided + (oneOfMany ? ", one of " + std::to_string(measured.comparisons) + " comparisons" : "") +
               range + (measured.isUnsettled() ? ": " + busyText(*measured.disturbance) : "");
    }
    return outcome + ", " + timesText(measured.factor) + (first ? " as fast as " + line.against : "") + range +
           (line.efficiency ? ", " + percent(line.efficiency, 0).toStdString() + " efficient" : "");
}

std::string phrases(const Judgement &judgement) {
    std::string out;
    bool compared = false; // "as fast as baseline" once
    for (const VerdictLine &line : judgement.lines) {
        if (!isSaid(line))
            continue;
        out += (out.empty() ? "" : " ") + atStart(line.run) + ": ";
        if (!line.speedUp) {
            out += std::string(toString(line.outcome)) +
                   (line.outcome == Outcome::CantTell && !line.reason.empty() ? "; " + line.reason : "") + ".";
            continue;
        }
        const bool overReference = line.against == judgement.reference;
        const std::string said = outcomeAndFactor(line, !overReference || !compared);
        compared = compared || (overReference && said.find(" as fast as ") != std::string::npos);
        // An interval that would settle it, were it not for the reason.
        const bool settled = line.speedUp->isDifferent() || line.speedUp->isEqual();
        out += said + (line.outcome == Outcome::CantTell && settled ? "; " + line.reason : "") + ".";
    }
    return out;
}

/// Whether more than failures can be said.
bool isAnyCompared(const Judgement &judgement) {
    return std::ranges::any_of(judgement.lines,
                               [](const VerdictLine &line) { return isSaid(line) && line.outcome != Outcome::Failed; });
}

std::string moreText(const Judgement &judgement) {
    return judgement.moreRuns == 0 ? std::string() : " " + std::to_string(judgement.moreRuns) + " more in the table.";
}

std::string spreadOf(const std::vector<SpeedUp> &all) {
    std::optional<int> least; // repeats of those that have an interval
    int mostOfThem = 0;
    std::size_t without = 0;
    int most = 0;
    for (const SpeedUp &said : all) {
        const int repeats = std::min(said.referenceRepeats, said.runRepeats);
        most = std::max(most, repeats);
        if (said.hasInterval()) {
            least = std::min(least.value_or(repeats), repeats);
            mostOfThem = std::max(mostOfThem, repeats);
        } else if (!said.shareEpochs)
            ++without;
    }
    if (all.empty())
        return {};
    if (least)
        return "95 % intervals, " +
               (*least == mostOfThem ? std::to_string(*least) + " repeats each"
                                     : std::to_string(*least) + " to " + std::to_string(mostOfThem) + " repeats each") +
               (without == 0 ? "." : "; no interval below 3 repeats.");
    if (std::ranges::any_of(all, &SpeedUp::shareEpochs))
        return "No interval: " + std::string(sharedEpochsReason) + ".";
    return most <= 1 ? "One run each: differences of a few percent can be chance; repeats would tell."
                     : "Fewer than 3 repeats: no interval can be given, differences of a few percent can be chance.";
}

const ResultRow *referenceOf(const ResultTable &table) {
    const auto found =
        std::ranges::find_if(table.rows, [](const ResultRow &row) { return row.reference && !row.published; });
    return found == table.rows.end() ? nullptr : &*found;
}

std::vector<SpeedUp> speedUpsOf(const ResultTable &table) {
    std::vector<SpeedUp> out;
    const ResultRow *reference = referenceOf(table);
    if (!reference)
        return out;
    for (const ResultRow &row : table.rows)
        if (!row.published && !row.reference)
            if (const auto speedUp = speedUpOf(reference->trainingTimes, row.trainingTimes))
                out.push_back(*speedUp);
    return out;
}

bool isApart(const PairJudgement &pair) {
    return pair.training && (pair.training->isDifferent() || !pair.training->hasInterval());
}

/// The causes of the largest gain and of the largest loss.
std::string causes(const std::vector<RepeatGroup> &groups, const std::vector<PairJudgement> &pairs) {
    const ExplainedPairs explained = explainedPairs(pairs);
    std::string out;
    for (const PairJudgement *pair : {explained.gain, explained.loss})
        if (pair)
            if (const std::string text = causeSentence(groups, pairs, *pair); !text.empty())
                out += " " + text;
    return out;
}

/// Whether the published figures blame loading: one of their runs has more loading workers than their reference, its method
/// and devices, and is faster.
bool publicationBlamesLoading(const ResultTable &table) {
    const auto reference =
        std::ranges::find_if(table.rows, [](const ResultRow &row) { return row.published && row.reference; });
    if (reference == table.rows.end() || !reference->workers)
        return false;
    return std::ranges::any_of(table.rows, [&](const ResultRow &row) {
        return row.published && row.method == reference->method && row.devices == reference->devices && row.workers &&
               *row.workers > *reference->workers && row.speedUpTraining.value_or(0) >= publishedGain;
    });
}

} // namespace

VerdictText verdictText(const ResultTable &table) {
    return {table.verdict, spreadOf(speedUpsOf(table))};
}

ExplainedPairs explainedPairs(const std::vector<PairJudgement> &pairs) {
    ExplainedPairs out;
    for (const PairJudgement &pair : pairs) {
        if (!isApart(pair) || !pair.attribution || pair.otherWork)
            continue;
        const double factor = pair.training->factor;
        if (factor > 1 && (!out.gain || factor > out.gain->training->factor))
            out.gain = &pair;
        if (factor < 1 && (!out.loss || factor < out.loss->training->factor))
            out.loss = &pair;
    }
    return out;
}

std::string verdictSentence(const std::vector<RepeatGroup> &groups, const Judgement &judgement) {
    return isAnyCompared(judgement) ? phrases(judgement) + moreText(judgement) + causes(groups, judgement.pairs)
                                    : std::string();
}

std::string briefVerdict(const Judgement &judgement) {
    if (!isAnyCompared(judgement))
        return {};
    std::string out;
    for (VerdictLine line : judgement.lines)
        if (isSaid(line)) {
            line.efficiency.reset();
            const std::string figures = figuresText(line);
            out += (out.empty() ? "" : " ") + atStart(shortTitle(line.run)) + ": " +
                   std::string(toString(line.outcome)) + (figures.empty() ? "" : ", " + figures) +
                   (line.speedUp && line.against != judgement.reference ? " against " + shortTitle(line.against) : "") +
                   ".";
        }
    return out + moreText(judgement);
}

std::string noVerdictText(const ResultTable &table) {
    std::vector<const ResultRow *> ours;
    for (const ResultRow &row : table.rows)
        if (!row.published)
            ours.push_back(&row);
    if (ours.empty() || !std::ranges::all_of(ours, [](const ResultRow *row) { return isOver(*row); }))
        return "No verdict yet: the reference and another run must be done.";
    if (ours.size() == 1)
        return "Nothing to compare: this is one run alone.";
    const auto reference = std::ranges::find_if(ours, &ResultRow::reference);
    if (reference == ours.end() || (*reference)->repeats == 0)
        return "No verdict: the reference" + (table.reference.empty() ? std::string() : ", " + table.reference + ",") +
               " was not done.";
    const bool another =
        std::ranges::any_of(ours, [](const ResultRow *row) { return !row->reference && row->repeats > 0; });
    return another ? "No verdict: no two training times can be compared."
                   : "No verdict: no run but the reference, " + (*reference)->name + ", was done.";
}

std::string publishedCause(const ResultTable &table, const std::vector<RepeatGroup> &groups) {
    if (!publicationBlamesLoading(table))
        return {};
    const auto reference = std::ranges::find_if(groups, &RepeatGroup::reference);
    std::string holds, fails;
    int asked = 0;
    for (const RepeatGroup &group : groups) {
        const auto &config = group.runs.front().config;
        const auto parts = partsOf(group);
        if (!config || !parts || !parts->loadS || config->method != Method::Baseline || config->workers != 0 ||
            (reference != groups.end() && reference->runs.front().config &&
             config->augment != reference->runs.front().config->augment))
            continue;
        const double share = *parts->loadS / parts->trainingS;
        std::string &list = share >= loadingMatters ? holds : fails;
        list += (list.empty() ? "" : ", ") + group.name + " (loading is " + shareText(share, loadingMatters) +
                " of the step)";
        ++asked;
    }
    if (asked == 0)
        return {};
    if (holds.empty())
        return "The published cause, data loading, does not hold here: " + fails + ".";
    return "The published cause, data loading, holds here for " + holds +
           (fails.empty() ? "." : "; it does not for " + fails + ".");
}

} // namespace lockstep::core
