// SPDX-License-Identifier: MIT
#include "analysis/compare/measured_control.h"

#include <algorithm>

#include "analysis/fairness/setting_factors.h"

namespace lockstep::core {
namespace {

bool isLoading(const SettingFactor &factor) {
    return factor.key == "workers" || factor.key == "loader" || factor.key == "augment" || factor.key == "pin_memory" ||
           factor.key == "non_blocking";
}

bool isOf(Control control, const SettingFactor &factor) {
    return control == Control::Loading ? isLoading(factor) : factor.key != "method" && factor.key != "program";
}

/// Whether the difference is all that the two are unlike in, as a control differs: then it is what the comparison is about.
bool isTheQuestion(const MeasuredGroups &groups, const PairJudgement &pair, const FairnessFinding &finding) {
    const RepeatGroup *reference = findGroup(groups.all(), pair.reference), *run = findGroup(groups.all(), pair.run);
    if (!reference || !run)
        return false;
    const std::vector<SettingFactor> factors = factorsBetween(*reference, *run);
    return factors.size() == 1 && (factors.front().key == finding.key ||
                                   std::ranges::find(factors.front().keys, finding.key) != factors.front().keys.end());
}

bool isDecisiveWork(const FairnessFinding &finding) {
    return finding.weight == FairnessWeight::Decisive && isOfOtherWork(finding.key);
}

/// The first decisive difference of work; null: there is none.
const FairnessFinding *otherWorkOf(const PairJudgement &pair) {
    const auto found = std::ranges::find_if(pair.fairness, isDecisiveWork);
    return found == pair.fairness.end() ? nullptr : &*found;
}

} // namespace

const PairJudgement *measuredControl(Control control, const MeasuredGroups &groups,
                                     const std::vector<PairJudgement> &pairs, const PairJudgement &pair) {
    const RepeatGroup *reference = findGroup(groups.all(), pair.reference), *run = findGroup(groups.all(), pair.run);
    if (!reference || !run)
        return nullptr;
    const std::vector<SettingFactor> factors = factorsBetween(*reference, *run);
    if (factors.size() > 31)
        return nullptr;
    std::uint32_t mask = 0;
    for (std::size_t i = 0; i < factors.size(); ++i)
        mask |= isOf(control, factors[i]) ? std::uint32_t(1) << i : 0;
    if (mask == 0 || mask + 1 == std::uint32_t(1) << factors.size())
        return nullptr;
    const GroupSetting wanted = settingBetween(*reference, *run, factors, mask);
    std::vector<const RepeatGroup *> controls = groups.withRepeatOf(wanted.config);
    std::erase_if(controls, [&](const RepeatGroup *group) { return !hasSetting(*group, wanted); });
    const auto isControl = [&](const PairJudgement &other) {
        return other.run != pair.run && other.training &&
               std::ranges::find(controls, other.run, &RepeatGroup::name) != controls.end();
    };
    const auto found = controls.empty() ? pairs.end() : std::ranges::find_if(pairs, isControl);
    return found == pairs.end() ? nullptr : &*found;
}

bool isLoad(const FairnessFinding &finding) {
    return finding.key == "load" || finding.key == "stolen";
}

const FairnessFinding *unintendedDifference(const MeasuredGroups &groups, const PairJudgement &pair) {
    const auto found = std::ranges::find_if(pair.fairness, [](const FairnessFinding &finding) {
        return finding.weight == FairnessWeight::Decisive && !isLoad(finding);
    });
    if (found == pair.fairness.end())
        return nullptr;
    return isDecisiveWork(*found) || !isTheQuestion(groups, pair, *found) ? &*found : otherWorkOf(pair);
}

bool hasOtherWork(const PairJudgement &pair) {
    return otherWorkOf(pair) != nullptr;
}

const PairJudgement *controlInstead(const MeasuredGroups &groups, const std::vector<PairJudgement> &pairs,
                                    const PairJudgement &pair) {
    if (!pair.training || !unintendedDifference(groups, pair))
        return nullptr;
    for (const Control control : {Control::AllButMethod, Control::Loading})
        if (const PairJudgement *found = measuredControl(control, groups, pairs, pair))
            return found;
    return nullptr;
}

} // namespace lockstep::core
