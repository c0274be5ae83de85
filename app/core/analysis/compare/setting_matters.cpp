// SPDX-License-Identifier: MIT
#include "analysis/compare/setting_matters.h"

#include <algorithm>

#include "analysis/compare/row_figures.h"

namespace lockstep::core {
namespace {

std::string asFast(const SpeedUp &speedUp) {
    return withRange(speedUp.factor, speedUp) + " times as fast as";
}

} // namespace

std::string whetherItMatters(const std::string &setting, const std::vector<PairJudgement> &pairs) {
    const PairJudgement *fastest = nullptr, *slowest = nullptr;
    bool allEqual = true, anyOpen = false, any = false;
    for (const PairJudgement &pair : pairs) {
        if (pair.otherWork)
            continue;
        const bool judged = pair.training && pair.training->hasInterval();
        const bool different = judged && pair.training->isDifferent(), equal = judged && pair.training->isEqual();
        any = any || judged;
        allEqual = allEqual && equal;
        anyOpen = anyOpen || (!different && !equal);
        if (!different)
            continue;
        const auto factor = [](const PairJudgement *of) { return of->training->factor; };
        if (pair.training->factor > 1 && (!fastest || pair.training->factor > factor(fastest)))
            fastest = &pair;
        if (pair.training->factor < 1 && (!slowest || pair.training->factor < factor(slowest)))
            slowest = &pair;
    }
    if (!any)
        return {};
    if (fastest)
        return setting + " matters: \"" + fastest->run + "\" is " + asFast(*fastest->training) + " \"" +
               fastest->reference + "\".";
    if (slowest)
        return setting + " matters, and " +
               (anyOpen ? "whether any value beats what is set, these repeats can't tell: \""
                        : "nothing that was tried beats what is set: \"") +
               slowest->run + "\" is " + asFast(*slowest->training) + " \"" + slowest->reference + "\".";
    if (allEqual)
        return setting + " doesn't matter here: every value is equal to what is set " + equalWithinText() + ".";
    return setting + ": these repeats can't tell whether it matters; no value is told apart from what is set.";
}

} // namespace lockstep::core
