// SPDX-License-Identifier: MIT
#include "analysis/compare/verdict.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "analysis/causes/phase_parts.h"
#include "analysis/compare/row_figures.h"
#include "analysis/fairness/setting_factors.h"
#include "base/format.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostNamed = 4;
constexpr double loadingMatters = 0.20; ///< of training time: as for input-bound (bottleneck.h)
constexpr double weighty = 0.25;        ///< of the change in training time: a cause of so much is named
constexpr double readsAsWhole = 1.005;  ///< of the change: less than that reads as 100 % of it
constexpr double publishedGain = 1.25;  ///< a published control with workers that is faster by this blames loading

/// What a sentence needs of a pair, whichever way it was computed.
struct Mention {
    std::string name, method;
    int devices = 1;
    SpeedUp speedUp;
    std::optional<double> efficiency;
};

std::string times(double factor) {
    return factorText(factor).toStdString() + "×";
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
    if (said.speedUp.hasInterval() && !said.speedUp.isDifferent()) {
        const std::string range = " (" + rangeText(said.speedUp) + ").";
        if (said.speedUp.isEqual())
            return name + ": equal to " + reference + " " + equalWithinText() + range;
        return name + ": not distinguishable from " + reference +
               (said.speedUp.leavesOutOne() ? " among " + std::to_string(said.speedUp.comparisons) + " comparisons"
                                            : "") +
               range;
    }
    std::string out = name + ": " + times(said.speedUp.factor) + (first ? " as fast as " + reference : "");
    if (said.speedUp.hasInterval())
        out += " (" + rangeText(said.speedUp) + ")";
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

/// The causes in training time, in the direction of `sign`, that are a quarter of the change and more; the heaviest first.
/// Where none is, `orHeaviest` asks for the heaviest.
std::vector<const AttributionBar *> weightyCauses(const Attribution &attribution, double sign,
                                                  bool orHeaviest = false) {
    const double least = weighty * std::fabs(attribution.trainingChangeS());
    std::vector<const AttributionBar *> out;
    for (const AttributionBar &bar : attribution.bars)
        if (bar.cause != Cause::StartUp && bar.seconds * sign > 0)
            out.push_back(&bar);
    std::ranges::stable_sort(out, std::greater<>(), [](const AttributionBar *bar) { return std::fabs(bar->seconds); });
    const auto light =
        std::ranges::find_if(out, [least](const AttributionBar *bar) { return std::fabs(bar->seconds) < least; });
    out.erase(orHeaviest && light == out.begin() && !out.empty() ? light + 1 : light, out.end());
    return out;
}

std::string joinedByAnd(const std::vector<std::string> &texts) {
    std::string out;
    for (std::size_t i = 0; i < texts.size(); ++i)
        out += (i == 0 ? "" : i + 1 == texts.size() ? " and " : ", ") + texts[i];
    return out;
}

/// "61 % of the gain of DDP ×2 in training time is data loading and 27 % device compute".
std::string sharesText(const std::vector<const AttributionBar *> &causes, double change, const std::string &run) {
    const std::string what = change < 0 ? "gain" : "loss";
    const auto share = [&](const AttributionBar *bar) { return percent(bar->seconds / change, 0).toStdString(); };
    if (causes.front()->cause == Cause::Unattributed)
        return "Most of the " + what + " of " + run + " in training time can't be attributed";
    std::vector<std::string> parts;
    for (const AttributionBar *bar : causes)
        parts.push_back(parts.empty() ? share(bar) + " of the " + what + " of " + run + " in training time is " +
                                            std::string(toString(bar->cause))
                                      : share(bar) + " " + std::string(toString(bar->cause)));
    return joinedByAnd(parts);
}

/// "DDP ×2 saves 5.00 s of training time in data loading and spends 1.20 s more on communication".
std::string opposedText(const Attribution &attribution, const std::vector<const AttributionBar *> &causes,
                        double change, const std::string &run) {
    const auto amount = [](double value) { return seconds(std::fabs(value)).toStdString(); };
    double net = change;
    std::vector<std::string> same, opposed;
    for (const AttributionBar *bar : causes) {
        same.push_back(amount(bar->seconds) +
                       (same.empty() ? change < 0 ? " of training time in " : " more of training time on "
                        : change < 0 ? " in "
                                     : " on ") +
                       std::string(toString(bar->cause)));
        net -= bar->seconds;
    }
    for (const AttributionBar *bar : weightyCauses(attribution, -change)) {
        opposed.push_back(amount(bar->seconds) +
                          (opposed.empty() && change < 0 ? " more on "
                           : change < 0                  ? " on "
                                                         : " in ") +
                          std::string(toString(bar->cause)));
        net -= bar->seconds;
    }
    if (opposed.empty())
        opposed.push_back(amount(net) + (change < 0 ? " more on other causes" : " in other causes"));
    return atStart(run) + (change < 0 ? " saves " : " spends ") + joinedByAnd(same) +
           (change < 0 ? " and spends " : " and saves ") + joinedByAnd(opposed);
}

/// Of training time, as the speed-up is; the waterfall beside it is launch to exit.
std::string causeText(const std::vector<Cell> &cells, const std::vector<PairJudgement> &pairs,
                      const PairJudgement &pair) {
    const Attribution &attribution = *pair.attribution;
    const double change = attribution.trainingChangeS();
    const std::vector<const AttributionBar *> most = weightyCauses(attribution, change, true);
    if (most.empty() || change == 0)
        return {};
    const bool within = most.front()->seconds / change < readsAsWhole;
    std::string out = within ? sharesText(most, change, pair.run) : opposedText(attribution, most, change, pair.run);
    if (std::ranges::any_of(most, [](const AttributionBar *bar) { return bar->cause == Cause::DataLoading; }))
        if (const PairJudgement *control = loadingControl(cells, pairs, pair))
            out += (within ? ": " : "; ") + control->run + " reaches " + times(control->training->factor) +
                   (!control->training->hasInterval() || control->training->isDifferent() ? ""
                    : control->training->isEqual() ? ", equal to " + pair.reference + " " + equalWithinText()
                                                   : ", not distinguishable from " + pair.reference) +
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
