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

/// What a sentence needs of a pair, whichever way it was computed.
struct Mention {
    std::string name, method;
    int devices = 1;
    SpeedUp speedUp;
    std::optional<double> efficiency;
};

enum class Length { Whole, Short };

std::string phrase(const Mention &said, const std::string &reference, bool first, Length length) {
    const std::string name = atStart(length == Length::Short ? shortTitle(said.name) : said.name);
    if (const std::string undecided = undecidedText(said.speedUp, reference); !undecided.empty())
        return name + ": " + undecided +
               (said.speedUp.leavesOutOne() && !said.speedUp.isUnsettled()
                    ? ", one of " + std::to_string(said.speedUp.comparisons) + " comparisons"
                    : "") +
               " (" + rangeText(said.speedUp) + ")" +
               (said.speedUp.isUnsettled() ? ": " + busyText(*said.speedUp.disturbance) : "") + ".";
    std::string out = name + ": " + timesText(said.speedUp.factor) +
                      (first && length == Length::Whole ? " as fast as " + reference : "");
    if (said.speedUp.hasInterval())
        out += " (" + rangeText(said.speedUp) + ")";
    if (said.devices > 1 && said.efficiency && length == Length::Whole)
        out += ", " + percent(said.efficiency, 0).toStdString() + " efficient";
    return out + ".";
}

std::vector<Mention> named(const std::vector<Mention> &all) {
    std::vector<Contender> contenders;
    for (const Mention &said : all)
        contenders.push_back({said.name, said.method, said.speedUp.factor});
    std::vector<Mention> out;
    for (const std::size_t at : thatMatter(contenders))
        out.push_back(all[at]);
    return out;
}

std::string phrases(const std::vector<Mention> &all, const std::string &reference, Length length = Length::Whole) {
    const std::vector<Mention> some = named(all);
    std::string out;
    bool compared = false; // "as fast as baseline" once
    for (const Mention &said : some) {
        const bool plain = !said.speedUp.hasInterval() || said.speedUp.isDifferent();
        out += (out.empty() ? "" : " ") + phrase(said, reference, plain && !compared, length);
        compared = compared || plain;
    }
    if (some.size() < all.size())
        out += " " + std::to_string(all.size() - some.size()) + " more in the table.";
    return out;
}

std::string spreadOf(const std::vector<Mention> &all) {
    std::optional<int> least; // repeats of those that have an interval
    int mostOfThem = 0;
    std::size_t without = 0;
    int most = 0;
    for (const Mention &said : all) {
        const int repeats = std::min(said.speedUp.referenceRepeats, said.speedUp.runRepeats);
        most = std::max(most, repeats);
        if (said.speedUp.hasInterval()) {
            least = std::min(least.value_or(repeats), repeats);
            mostOfThem = std::max(mostOfThem, repeats);
        } else if (!said.speedUp.shareEpochs)
            ++without;
    }
    if (all.empty())
        return {};
    if (least)
        return "95 % intervals, " +
               (*least == mostOfThem ? std::to_string(*least) + " repeats each"
                                     : std::to_string(*least) + " to " + std::to_string(mostOfThem) + " repeats each") +
               (without == 0 ? "." : "; no interval below 3 repeats.");
    if (std::ranges::any_of(all, [](const Mention &said) { return said.speedUp.shareEpochs; }))
        return "No interval: " + std::string(sharedEpochsReason) + ".";
    return most <= 1 ? "One run each: differences of a few percent can be chance; repeats would tell."
                     : "Fewer than 3 repeats: no interval can be given, differences of a few percent can be chance.";
}

const ResultRow *referenceOf(const ResultTable &table) {
    const auto found =
        std::ranges::find_if(table.rows, [](const ResultRow &row) { return row.reference && !row.published; });
    return found == table.rows.end() ? nullptr : &*found;
}

std::vector<Mention> saidOf(const ResultTable &table) {
    std::vector<Mention> out;
    const ResultRow *reference = referenceOf(table);
    if (!reference)
        return out;
    for (const ResultRow &row : table.rows)
        if (!row.published && !row.reference)
            if (const auto speedUp = speedUpOf(reference->trainingTimes, row.trainingTimes))
                out.push_back({row.name, row.method, row.devices, *speedUp, row.efficiency});
    std::vector<SpeedUp *> family;
    for (Mention &said : out)
        family.push_back(&said.speedUp);
    decideTogether(family);
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
    const std::vector<Mention> said = saidOf(table);
    VerdictText out;
    if (said.empty())
        return out;
    out.sentence = table.verdict.empty() ? phrases(said, table.reference) : table.verdict;
    out.speedUps = phrases(said, table.reference, Length::Short);
    out.spread = spreadOf(said);
    return out;
}

ExplainedPairs explainedPairs(const std::vector<PairJudgement> &pairs) {
    ExplainedPairs out;
    for (const PairJudgement &pair : pairs) {
        if (!isApart(pair) || !pair.attribution)
            continue;
        const double factor = pair.training->factor;
        if (factor > 1 && (!out.gain || factor > out.gain->training->factor))
            out.gain = &pair;
        if (factor < 1 && (!out.loss || factor < out.loss->training->factor))
            out.loss = &pair;
    }
    return out;
}

std::string verdictSentence(const ResultTable &table, const std::vector<RepeatGroup> &groups,
                            const std::vector<PairJudgement> &pairs) {
    std::vector<Mention> said;
    for (const PairJudgement &pair : pairs)
        if (pair.training)
            said.push_back({pair.run, methodOf(table, pair.run), pair.devices, *pair.training, pair.efficiency});
    if (said.empty())
        return {};
    return phrases(said, pairs.front().reference) + causes(groups, pairs);
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
