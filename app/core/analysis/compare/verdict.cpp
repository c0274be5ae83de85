// SPDX-License-Identifier: MIT
#include "analysis/compare/verdict.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "analysis/causes/phase_parts.h"
#include "analysis/fairness/setting_factors.h"
#include "base/format.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostNamed = 4;
constexpr double loadingMatters = 0.20; ///< of training time: as for input-bound (bottleneck.h)
constexpr double publishedGain = 1.25;  ///< a published control with workers that is faster by this blames loading

/// What a sentence needs of a pair, whichever way it was computed.
struct Mention {
    std::string name, method;
    int devices = 1;
    SpeedUp speedUp;
    std::optional<double> efficiency;
};

std::string times(double factor) {
    return significant(factor).toStdString() + "×";
}

std::string rangeOf(const SpeedUp &speedUp) {
    return significant(*speedUp.low).toStdString() + "-" + significant(*speedUp.high).toStdString();
}

enum class Length { Whole, Short };

/// A run's name where a sentence begins.
std::string atStart(std::string name) {
    if (!name.empty())
        name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    return name;
}

std::string phrase(const Mention &said, const std::string &reference, bool first, Length length) {
    const std::string name = atStart(said.name);
    if (said.speedUp.hasInterval() && !said.speedUp.isDifferent())
        return name + ": not distinguishable from " + reference + " (" + rangeOf(said.speedUp) + ").";
    std::string out = name + ": " + times(said.speedUp.factor) + (first ? " as fast as " + reference : "");
    if (said.speedUp.hasInterval())
        out += " (" + rangeOf(said.speedUp) + ")";
    if (said.devices > 1 && said.efficiency && length == Length::Whole)
        out += ", " + percent(said.efficiency, 0).toStdString() + " efficient";
    return out + ".";
}

/// In the order given: all, or the fastest and the best of each method.
std::vector<Mention> named(std::vector<Mention> all) {
    if (all.size() <= mostNamed)
        return all;
    std::vector<Mention> byFactor = all;
    std::ranges::stable_sort(byFactor, std::greater<>(), [](const Mention &said) { return said.speedUp.factor; });
    std::set<std::string> methods, names;
    for (const Mention &said : byFactor)
        if (methods.insert(said.method).second)
            names.insert(said.name);
    std::erase_if(byFactor, [&](const Mention &said) { return !names.contains(said.name); });
    return byFactor;
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
    std::size_t without = 0;
    int most = 0;
    for (const Mention &said : all) {
        const int repeats = std::min(said.speedUp.referenceRepeats, said.speedUp.runRepeats);
        most = std::max(most, repeats);
        if (said.speedUp.hasInterval())
            least = std::min(least.value_or(repeats), repeats);
        else
            ++without;
    }
    if (all.empty())
        return {};
    if (least)
        return "By training time, with 95 % intervals of at least " + std::to_string(*least) + " repeats each" +
               (without == 0 ? "." : "; with fewer than 3 repeats of either no interval is given.");
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
            if (const auto speedUp = speedUpOf(reference->trainingTimesS, row.trainingTimesS))
                out.push_back({row.name, row.method, row.devices, *speedUp, row.efficiency});
    return out;
}

bool isApart(const PairJudgement &pair) {
    return pair.training && (pair.training->isDifferent() || !pair.training->hasInterval());
}

const Cell *find(const std::vector<Cell> &cells, const std::string &name) {
    const auto found = std::ranges::find(cells, name, &Cell::name);
    return found == cells.end() ? nullptr : &*found;
}

bool isLoading(const SettingFactor &factor) {
    return factor.key == "workers" || factor.key == "loader" || factor.key == "augment" || factor.key == "pin_memory" ||
           factor.key == "non_blocking";
}

/// The measured run that has the run's loading and all else as the reference.
const PairJudgement *loadingControl(const std::vector<Cell> &cells, const std::vector<PairJudgement> &pairs,
                                    const PairJudgement &pair) {
    const Cell *reference = find(cells, pair.reference), *run = find(cells, pair.run);
    if (!reference || !run)
        return nullptr;
    const std::vector<SettingFactor> factors = factorsBetween(*reference, *run);
    std::uint32_t mask = 0;
    for (std::size_t i = 0; i < factors.size() && i < 32; ++i)
        mask |= isLoading(factors[i]) ? std::uint32_t(1) << i : 0;
    if (mask == 0 || factors.size() < 2 || factors.size() > 31)
        return nullptr;
    const RunConfig wanted = configBetween(*reference, *run, factors, mask);
    for (const PairJudgement &other : pairs) {
        const Cell *cell = find(cells, other.run);
        if (cell && other.run != pair.run && other.training && cell->runs.front().config &&
            isScript(*cell) == isScript(*reference) && isSameSetting(*cell->runs.front().config, wanted))
            return &other;
    }
    return nullptr;
}

std::string causeText(const std::vector<Cell> &cells, const std::vector<PairJudgement> &pairs,
                      const PairJudgement &pair) {
    const Attribution &attribution = *pair.attribution;
    const double change = attribution.trainingChangeS();
    const AttributionBar *most = nullptr;
    for (const AttributionBar &bar : attribution.bars)
        if (bar.cause != Cause::StartUp && bar.seconds * change > 0 &&
            (!most || std::fabs(bar.seconds) > std::fabs(most->seconds)))
            most = &bar;
    if (!most || change == 0)
        return {};
    const double share = most->seconds / change;
    const std::string what = change < 0 ? "gain" : "loss", cause(toString(most->cause));
    std::string out; // of training time, as the speed-up is; the waterfall beside it is launch to exit
    if (most->cause == Cause::Unattributed)
        out = "Most of the " + what + " of " + pair.run + " in training time can't be attributed";
    else if (share <= 1)
        out = percent(share, 0).toStdString() + " of the " + what + " of " + pair.run + " in training time is " + cause;
    else
        out = atStart(pair.run) + (change < 0 ? " saves " : " spends ") +
              seconds(std::fabs(most->seconds)).toStdString() +
              (change < 0 ? " of training time in " : " more of training time on ") + cause +
              (change < 0 ? " and spends " : " and saves ") +
              seconds(std::fabs(most->seconds) - std::fabs(change)).toStdString() +
              (change < 0 ? " more on other causes" : " in other causes");
    if (most->cause == Cause::DataLoading)
        if (const PairJudgement *control = loadingControl(cells, pairs, pair))
            out += (share <= 1 ? ": " : "; ") + control->run + " reaches " + times(control->training->factor) +
                   (control->training->hasInterval() && !control->training->isDifferent()
                        ? ", not distinguishable from " + pair.reference
                        : "") +
                   " by itself";
    return out + ".";
}

/// The causes of the largest gain and of the largest loss.
std::string causes(const std::vector<Cell> &cells, const std::vector<PairJudgement> &pairs) {
    const ExplainedPairs explained = explainedPairs(pairs);
    std::string out;
    for (const PairJudgement *pair : {explained.gain, explained.loss})
        if (pair)
            if (const std::string text = causeText(cells, pairs, *pair); !text.empty())
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

/// "The published cause, data loading, holds for … (loading is 55 % of training time), not for … (6 %)."
std::string publishedCause(const ResultTable &table, const std::vector<Cell> &cells) {
    if (!publicationBlamesLoading(table))
        return {};
    const auto reference = std::ranges::find_if(cells, &Cell::reference);
    std::string holds, fails;
    int asked = 0;
    for (const Cell &cell : cells) {
        const auto &config = cell.runs.front().config;
        const auto parts = partsOf(cell);
        if (!config || !parts || !parts->loadS || config->method != Method::Baseline || config->workers != 0 ||
            (reference != cells.end() && reference->runs.front().config &&
             config->augment != reference->runs.front().config->augment))
            continue;
        const double share = *parts->loadS / parts->trainingS;
        std::string &list = share >= loadingMatters ? holds : fails;
        list += (list.empty() ? "" : ", ") + cell.name + " (loading is " + shareText(share, loadingMatters) +
                " of the step)";
        ++asked;
    }
    if (asked == 0)
        return {};
    if (holds.empty())
        return " The published cause, data loading, does not hold here: " + fails + ".";
    return " The published cause, data loading, holds here for " + holds +
           (fails.empty() ? "." : "; it does not for " + fails + ".");
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

std::string verdictSentence(const ResultTable &table, const std::vector<Cell> &cells,
                            const std::vector<PairJudgement> &pairs) {
    std::vector<Mention> said;
    for (const PairJudgement &pair : pairs)
        if (pair.training)
            said.push_back({pair.run, methodOf(table, pair.run), pair.devices, *pair.training, pair.efficiency});
    if (said.empty())
        return {};
    return phrases(said, pairs.front().reference) + causes(cells, pairs) + publishedCause(table, cells);
}

} // namespace lockstep::core
