// SPDX-License-Identifier: MIT
#include "analysis/fairness/runs_beside.h"

#include <algorithm>

namespace lockstep::core {
namespace {

struct RunAmongOthers {
    const RunOutcome *run;
    double begin, end;    ///< seconds
    double togetherS = 0; ///< with each of the others on one of its machines, summed up
};

std::vector<const RepeatGroup *> pointersTo(const std::vector<RepeatGroup> &groups) {
    std::vector<const RepeatGroup *> out;
    for (const RepeatGroup &group : groups)
        out.push_back(&group);
    return out;
}

/// `runs`: by their begin, so that each meets only those that were not over when it began.
void addTogether(std::vector<RunAmongOthers> &runs) {
    std::vector<RunAmongOthers *> going;
    for (RunAmongOthers &run : runs) {
        std::erase_if(going, [&](const RunAmongOthers *other) { return other->end <= run.begin; });
        for (RunAmongOthers *other : going) {
            const double together = std::min(run.end, other->end) - run.begin;
            if (together <= 0 || !run.run->hosts.sharesOne(other->run->hosts))
                continue;
            run.togetherS += together;
            other->togetherS += together;
        }
        going.push_back(&run);
    }
}

std::optional<double> figureOf(const RunAmongOthers &timed) {
    const RunOutcome &run = *timed.run;
    if (run.startWallUs <= 0 || run.hosts.empty())
        return std::nullopt;
    return run.conditions.inTurns ? 0 : timed.togetherS / *run.runTimeS; // in turns the others stood still meanwhile
}

} // namespace

RunsBeside::RunsBeside(const std::vector<RepeatGroup> &groups) : RunsBeside(pointersTo(groups)) {}

RunsBeside::RunsBeside(const std::vector<const RepeatGroup *> &groups) {
    std::vector<RunAmongOthers> timed;
    for (const RepeatGroup *group : groups)
        for (const RunOutcome &run : group->runs) {
            if (!m_figures.try_emplace(keyOf(run)).second || run.runTimeS.value_or(0) <= 0)
                continue;
            const double begin = double(run.startWallUs) * 1e-6;
            timed.push_back({&run, begin, begin + *run.runTimeS});
        }
    std::ranges::stable_sort(timed, {}, &RunAmongOthers::begin);
    addTogether(timed);
    for (const RunAmongOthers &one : timed)
        m_figures[keyOf(*one.run)] = figureOf(one);
}

std::optional<double> RunsBeside::of(const RunOutcome &run) const {
    const auto found = m_figures.find(keyOf(run));
    return found == m_figures.end() ? std::nullopt : found->second;
}

} // namespace lockstep::core
