// SPDX-License-Identifier: MIT
#include "analysis/compare/cause_words.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "analysis/compare/measured_control.h"
#include "analysis/compare/verdict_lines.h"
#include "base/format.h"

namespace lockstep::core {
namespace {

constexpr double weighty = 0.25;       ///< of the change in training time, and
constexpr double beside = 0.1;         ///< of the heaviest cause: a cause of so much is named
constexpr double readsAsWhole = 1.005; ///< of the change: less than that reads as 100 % of it

/// The causes in training time, in the direction of `sign`, that are weighty, and more than the chance of these repeats; the heaviest
/// first. Where none is, `orHeaviest` asks for the heaviest.
std::vector<const AttributionBar *> weightyCauses(const Attribution &attribution, double sign,
                                                  bool orHeaviest = false) {
    double heaviest = 0;
    std::vector<const AttributionBar *> out;
    for (const AttributionBar &bar : attribution.bars) {
        if (bar.cause == Cause::StartUp || bar.isDoubtful())
            continue;
        heaviest = std::max(heaviest, std::fabs(bar.seconds));
        if (bar.seconds * sign > 0)
            out.push_back(&bar);
    }
    const double least = std::max(weighty * std::fabs(attribution.trainingChangeS()), beside * heaviest);
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

/// "61 % of the training time that DDP on 2 devices saves is data loading and 27 % device compute".
std::string sharesText(const std::vector<const AttributionBar *> &causes, double change, const std::string &ofWhat) {
    const auto share = [&](const AttributionBar *bar) { return percent(bar->seconds / change, 0).toStdString(); };
    if (causes.front()->cause == Cause::Unattributed)
        return "most of " + ofWhat + " can't be attributed";
    std::vector<std::string> parts;
    for (const AttributionBar *bar : causes)
        parts.push_back(share(bar) + (parts.empty() ? " of " + ofWhat + " is " : " ") +
                        std::string(toString(bar->cause)));
    return joinedByAnd(parts);
}

/// "DDP on 2 devices saves 5.00 s in data loading and spends 1.20 s more on communication".
std::string opposedText(const Attribution &attribution, const std::vector<const AttributionBar *> &causes,
                        double change, const std::string &run) {
    const std::vector<const AttributionBar *> against = weightyCauses(attribution, -change);
    double largest = 0;
    for (const auto *list : {&causes, &against})
        for (const AttributionBar *bar : *list)
            largest = std::max(largest, std::fabs(bar->seconds));
    const auto amount = [largest](double value) { return secondsBeside(std::fabs(value), largest).toStdString(); };
    double net = change;
    std::vector<std::string> same, opposed;
    for (const AttributionBar *bar : causes) {
        same.push_back(amount(bar->seconds) +
                       (same.empty() ? change < 0 ? " in " : " more on "
                        : change < 0 ? " in "
                                     : " on ") +
                       std::string(toString(bar->cause)));
        net -= bar->seconds;
    }
    for (const AttributionBar *bar : against) {
        opposed.push_back(amount(bar->seconds) +
                          (opposed.empty() && change < 0 ? " more on "
                           : change < 0                  ? " on "
                                                         : " in ") +
                          std::string(toString(bar->cause)));
        net -= bar->seconds;
    }
    if (opposed.empty())
        opposed.push_back(amount(net) + (change < 0 ? " more elsewhere" : " elsewhere"));
    return (run.empty() ? change < 0 ? "saves " : "spends " : atStart(run) + (change < 0 ? " saves " : " spends ")) +
           joinedByAnd(same) + (change < 0 ? " and spends " : " and saves ") + joinedByAnd(opposed);
}

/// Whether the causes together are part of the change, and no more than it, so that shares of it say something.
bool areParts(const std::vector<const AttributionBar *> &causes, double change) {
    double sum = 0;
    for (const AttributionBar *bar : causes)
        sum += bar->seconds;
    return sum / change < readsAsWhole;
}

} // namespace

std::string timesText(double factor) {
    return factorText(factor).toStdString() + "×";
}

std::string atStart(std::string name) {
    if (!name.empty())
        name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    return name;
}

std::string causeSentence(const std::vector<RepeatGroup> &groups, const std::vector<PairJudgement> &pairs,
                          const PairJudgement &pair) {
    const Attribution &attribution = *pair.attribution;
    const double change = attribution.trainingChangeS();
    const std::vector<const AttributionBar *> most = weightyCauses(attribution, change, true);
    if (most.empty() || change == 0)
        return {};
    const bool within = areParts(most, change);
    std::string out = within ? atStart(sharesText(most, change,
                                                  change < 0 ? "the training time that " + pair.run + " saves"
                                                             : "the extra training time of " + pair.run))
                             : opposedText(attribution, most, change, pair.run);
    if (std::ranges::any_of(most, [](const AttributionBar *bar) { return bar->cause == Cause::DataLoading; }))
        if (const PairJudgement *control = measuredControl(Control::Loading, groups, pairs, pair)) {
            const std::string undecided = undecidedText(*control->training, pair.reference);
            out += (within ? ": " : "; ") + control->run + " reaches " + timesText(control->training->factor) +
                   (undecided.empty() ? "" : " (" + undecided + ")") + " by itself";
        }
    return out + ".";
}

std::string causeClause(const Attribution &attribution) {
    const double change = attribution.trainingChangeS();
    const std::vector<const AttributionBar *> most = weightyCauses(attribution, change, true);
    if (most.empty() || change == 0)
        return {};
    return areParts(most, change) ? sharesText(most, change, change < 0 ? "the time saved" : "the extra time")
                                  : opposedText(attribution, most, change, {});
}

} // namespace lockstep::core
