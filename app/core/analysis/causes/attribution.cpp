// SPDX-License-Identifier: MIT
#include "analysis/causes/attribution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <set>

#include "analysis/causes/phase_parts.h"
#include "analysis/compare/counted_groups.h"
#include "analysis/compare/statistics.h"
#include "analysis/fairness/setting_factors.h"
#include "base/format.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostFactors = 6; ///< 64 controls, 720 orders
constexpr std::size_t mostMissing = 6; ///< more would be a list nobody starts
constexpr double worthNoting = 0.05;   ///< share of a training time in no phase that is said

using TimePart = std::optional<double> TimeParts::*;

/// What the bars of a comparison add up to the difference of.
double TimeParts::*comparedTime(bool trainingOnly) {
    return trainingOnly ? &TimeParts::trainingS : &TimeParts::runS;
}

/// Where one of the two does not report waiting apart from communicating, both are taken together.
void joinWaiting(TimeParts &parts) {
    if (parts.communicationS && parts.waitS)
        *parts.communicationS += *parts.waitS;
    parts.waitS.reset();
}

void noteUnreported(const RepeatGroup &group, const TimeParts &own, const TimeParts &other,
                    std::vector<std::string> &notes) {
    const std::pair<TimePart, const char *> parts[] = {{&TimeParts::loadS, "loading"},
                                                       {&TimeParts::computeS, "computing"},
                                                       {&TimeParts::communicationS, "communication"}};
    for (const auto &[part, name] : parts)
        if (!(own.*part) && other.*part)
            notes.push_back(group.name + " reports no " + name + ": that time of both is unattributed.");
    if (!own.waitS && own.communicationS)
        notes.push_back(group.name + " counts waiting for slower ranks as communication.");
    if (own.waitFollows && own.communicationS && *own.communicationS >= worthNoting * own.trainingS)
        notes.push_back(group.name + " counts its ranks' waiting for each other in turn as communication.");
    const double share = own.restS / own.trainingS;
    if (share > worthNoting)
        notes.push_back(percent(share, 0).toStdString() + " of the training time of " + group.name +
                        " is outside the phases that it reports.");
}

/// The repeats of a reference and of a run, with the parts that both report.
struct Sides {
    std::vector<RepeatParts> reference, run;
    bool hasLeftOut = false; ///< a repeat that stands out

    template <class Get> [[nodiscard]] MeanDifference differenceBy(Get get) const {
        const auto repeats = [&](const std::vector<RepeatParts> &side) {
            std::vector<Repeat> out;
            for (const RepeatParts &one : side)
                out.push_back({get(one.parts), one.made.round, one.made.moment});
            return out;
        };
        const auto difference = hasLeftOut ? differenceOfTheRest : differenceOf;
        return difference(repeats(reference), repeats(run));
    }
    [[nodiscard]] bool bothReport(TimePart part) const {
        return reference.front().parts.*part && run.front().parts.*part;
    }
};

/// Of the repeats that the factors count, so that bars and factors are of the same.
Sides sidesOf(const RepeatGroup &reference, const RepeatGroup &run, const std::optional<CountedRepeats> &counted) {
    if (!counted)
        return {partsOfRepeats(reference), partsOfRepeats(run)};
    return {partsOfRepeats(withOnly(reference, counted->reference)), partsOfRepeats(withOnly(run, counted->run)),
            counted->standingOut.has_value()};
}

void addBars(const RepeatGroup &reference, const RepeatGroup &run, Sides sides, Attribution &out) {
    noteUnreported(reference, sides.reference.front().parts, sides.run.front().parts, out.notes);
    noteUnreported(run, sides.run.front().parts, sides.reference.front().parts, out.notes);
    if (!sides.bothReport(&TimeParts::waitS))
        for (auto *side : {&sides.reference, &sides.run})
            for (RepeatParts &one : *side)
                joinWaiting(one.parts);
    // A part that one of the two does not report is reported for neither: its time stays in the rest of both.
    std::vector<TimePart> known;
    for (const TimePart part :
         {&TimeParts::loadS, &TimeParts::computeS, &TimeParts::communicationS, &TimeParts::waitS}) {
        const bool reported = sides.bothReport(part);
        if (reported)
            known.push_back(part);
        const MeanDifference by =
            sides.differenceBy([&](const TimeParts &parts) { return reported ? *(parts.*part) : 0; });
        out.bars.push_back({Cause(out.bars.size()), by.value, by.low, by.high});
    }
    if (!out.trainingOnly) {
        const MeanDifference startUp = sides.differenceBy([](const TimeParts &parts) { return parts.startUpS; });
        out.bars.push_back({Cause::StartUp, startUp.value, startUp.low, startUp.high});
    }
    const MeanDifference rest = sides.differenceBy([&](const TimeParts &parts) {
        double left = parts.trainingS;
        for (const TimePart part : known)
            left -= *(parts.*part);
        return left;
    });
    out.bars.push_back({Cause::Unattributed, rest.value, rest.low, rest.high});
}

/// The controls between two groups: names and times by which of the factors are the run's.
class Lattice {
public:
    /// `leftOut`: rounds that don't count.
    Lattice(const RepeatGroup &reference, const RepeatGroup &run, const MeasuredGroups &others,
            const std::vector<std::string> &leftOut, const std::vector<SettingFactor> &factors, bool trainingOnly)
        : m_trainingOnly(trainingOnly), m_count(factors.size()), m_nodes(std::size_t(1) << factors.size()) {
        for (std::uint32_t mask = 1; mask + 1 < m_nodes.size(); ++mask) {
            const GroupSetting wanted = settingBetween(reference, run, factors, mask);
            std::vector<const RepeatGroup *> controls = others.withRepeatOf(wanted.config);
            std::ranges::reverse(controls); // of several, the last counts
            for (const RepeatGroup *other : controls) {
                if (other->name == reference.name || other->name == run.name)
                    continue;
                m_nodes[mask] = leftOut.empty() ? nodeOf(*other, reference, wanted)
                                                : nodeOf(withoutRounds(*other, leftOut), reference, wanted);
                if (has(mask))
                    break;
            }
        }
    }
    void setEnds(double referenceS, double runS) {
        m_nodes.front() = {"", referenceS};
        m_nodes.back() = {"", runS};
    }
    [[nodiscard]] bool has(std::uint32_t mask) const { return m_nodes[mask].seconds.has_value(); }

    /// Effects by factor over every order whose controls are all there; empty when there is no such order.
    [[nodiscard]] std::vector<FactorEffect> effects(const std::vector<SettingFactor> &factors) const {
        std::vector<FactorEffect> out;
        for (const SettingFactor &factor : factors)
            out.push_back({factor.key, factor.label, 0, INFINITY, -INFINITY, {}});
        std::vector<std::set<std::string>> names(m_count);
        std::vector<std::pair<std::size_t, double>> steps; // factor and its seconds, in the present order
        long orders = 0;
        const std::function<void(std::uint32_t)> go = [&](std::uint32_t mask) {
            if (mask + 1 == m_nodes.size()) {
                ++orders;
                std::uint32_t at = 0;
                for (const auto &[factor, seconds] : steps) {
                    FactorEffect &effect = out[factor];
                    effect.seconds += seconds;
                    effect.low = std::min(effect.low, seconds);
                    effect.high = std::max(effect.high, seconds);
                    for (const std::uint32_t end : {at, at | std::uint32_t(1) << factor})
                        if (!m_nodes[end].name.empty())
                            names[factor].insert(m_nodes[end].name);
                    at |= std::uint32_t(1) << factor;
                }
                return;
            }
            for (std::size_t i = 0; i < m_count; ++i) {
                const std::uint32_t next = mask | std::uint32_t(1) << i;
                if (next == mask || !has(next))
                    continue;
                steps.emplace_back(i, *m_nodes[next].seconds - *m_nodes[mask].seconds);
                go(next);
                steps.pop_back();
            }
        };
        go(0);
        if (orders == 0)
            return {};
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i].seconds /= double(orders);
            out[i].controls.assign(names[i].begin(), names[i].end());
        }
        return out;
    }

private:
    struct Node {
        std::string name;
        std::optional<double> seconds;
    };
    /// Without seconds where the group is no control: another setting, other epochs than the reference's, or no phases.
    [[nodiscard]] Node nodeOf(const RepeatGroup &group, const RepeatGroup &reference,
                              const GroupSetting &wanted) const {
        if (!hasSetting(group, wanted) || !whyOtherEpochs(reference, group).empty() ||
            (!m_trainingOnly && !timedAlike(commonSpan(reference.runs), commonSpan(group.runs))))
            return {};
        const auto parts = partsOf(group);
        return parts ? Node{group.name, (*parts).*comparedTime(m_trainingOnly)} : Node();
    }

    bool m_trainingOnly;
    std::size_t m_count;
    std::vector<Node> m_nodes;
};

/// One change by itself first, then all but one, then what lies between.
std::vector<std::uint32_t> mostInformativeFirst(std::size_t factors) {
    std::vector<std::uint32_t> masks;
    for (std::uint32_t mask = 1; mask + 1 < std::uint32_t(1) << factors; ++mask)
        masks.push_back(mask);
    std::ranges::stable_sort(masks, {}, [factors](std::uint32_t mask) {
        const int changed = std::popcount(mask);
        return changed == 1 ? 0 : changed + 1 == int(factors) ? 1 : 2;
    });
    return masks;
}

void addFactors(const RepeatGroup &reference, const RepeatGroup &run, const MeasuredGroups &others,
                const std::vector<std::string> &leftOut, Attribution &out) {
    const std::vector<SettingFactor> factors = factorsBetween(reference, run);
    if (factors.size() < 2)
        return;
    if (factors.size() > mostFactors) {
        out.notes.push_back(reference.name + " and " + run.name + " differ in " + std::to_string(factors.size()) +
                            " settings: too many to tell apart by controls.");
        return;
    }
    Lattice lattice(reference, run, others, leftOut, factors, out.trainingOnly);
    lattice.setEnds(out.referenceS, out.runS);
    out.factors = lattice.effects(factors);
    for (const std::uint32_t mask : mostInformativeFirst(factors.size()))
        if (!lattice.has(mask) && out.missing.size() < mostMissing)
            if (auto control = controlBetween(reference, run, factors, mask))
                out.missing.push_back(std::move(*control));
}

} // namespace

std::string_view toString(Cause cause) {
    switch (cause) {
    case Cause::DataLoading:
        return "data loading";
    case Cause::Compute:
        return "device compute";
    case Cause::Communication:
        return "communication";
    case Cause::Imbalance:
        return "imbalance";
    case Cause::StartUp:
        return "outside training";
    case Cause::Unattributed:
        break;
    }
    return "unattributed";
}

const AttributionBar *Attribution::barOf(Cause cause) const {
    const auto found = std::ranges::find(bars, cause, &AttributionBar::cause);
    return found == bars.end() ? nullptr : &*found;
}

double Attribution::secondsOf(Cause cause) const {
    const AttributionBar *bar = barOf(cause);
    return bar ? bar->seconds : 0;
}

double Attribution::trainingChangeS() const {
    return runS - referenceS - secondsOf(Cause::StartUp);
}

double Attribution::unattributedShare() const {
    const double whole = std::max(std::fabs(runS - referenceS), std::max(runS, referenceS) / 100);
    return whole > 0 ? std::fabs(secondsOf(Cause::Unattributed)) / whole : 0;
}

std::optional<Attribution> attribute(const RepeatGroup &reference, const RepeatGroup &run,
                                     const MeasuredGroups &others) {
    const std::optional<CountedRepeats> counted = countedOf(reference, run);
    const Sides sides = sidesOf(reference, run, counted);
    if (sides.reference.empty() || sides.run.empty())
        return std::nullopt;
    Attribution out;
    out.reference = reference.name;
    out.run = run.name;
    const auto spanOfReference = commonSpan(reference.runs), spanOfRun = commonSpan(run.runs);
    out.trainingOnly = !timedAlike(spanOfReference, spanOfRun);
    if (out.trainingOnly)
        out.notes.push_back((spanOfRun == false ? reference.name : run.name) +
                            " was started elsewhere: when is unknown, so the times outside training are not compared.");
    out.referenceS = meanOf(sides.reference).*comparedTime(out.trainingOnly);
    out.runS = meanOf(sides.run).*comparedTime(out.trainingOnly);
    addBars(reference, run, sides, out);
    const std::vector<std::string> leftOut =
        counted ? roundsLeftOut(reference, run, *counted) : std::vector<std::string>();
    addFactors(reference, run, others, leftOut, out);
    return out;
}

} // namespace lockstep::core
