// SPDX-License-Identifier: MIT
#include "analysis/fairness/runs_beside.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace lockstep::core {
namespace {

struct RunAmongOthers {
    const RunOutcome *run;
    double begin, end;                    ///< seconds
    double togetherS = 0;                 ///< with each of the others on one of its machines, summed up
    std::vector<std::size_t> shared = {}; ///< its machines that others have, too: numbered, least first
};

std::vector<const RepeatGroup *> pointersTo(const std::vector<RepeatGroup> &groups) {
    std::vector<const RepeatGroup *> out;
    for (const RepeatGroup &group : groups)
        out.push_back(&group);
    return out;
}

/// Names are compared once a run, not once a pair. A machine that only one run has is none that two share.
void numberMachines(std::vector<RunAmongOthers> &runs) {
    struct Machine {
        std::size_t number;
        const RunAmongOthers *first;
        bool isShared = false;
    };
    std::unordered_map<std::string_view, Machine> machines;
    for (const RunAmongOthers &run : runs)
        for (const std::string &host : run.run->hosts.list()) {
            Machine &machine = machines.try_emplace(host, Machine{machines.size(), &run}).first->second;
            machine.isShared = machine.isShared || machine.first != &run;
        }
    for (RunAmongOthers &run : runs) {
        for (const std::string &host : run.run->hosts.list())
            if (const Machine &machine = machines.at(host); machine.isShared)
                run.shared.push_back(machine.number);
        std::ranges::sort(run.shared);
    }
}

bool shareOne(const std::vector<std::size_t> &a, const std::vector<std::size_t> &b) {
    auto one = a.begin(), other = b.begin();
    while (one != a.end() && other != b.end())
        if (*one == *other)
            return true;
        else
            ++(*one < *other ? one : other);
    return false;
}

/// `runs`: by their begin, so that each meets only those that were not over when it began.
void addTogether(std::vector<RunAmongOthers> &runs) {
    std::vector<RunAmongOthers *> going;
    for (RunAmongOthers &run : runs) {
        std::erase_if(going, [&](const RunAmongOthers *other) { return other->end <= run.begin; });
        for (RunAmongOthers *other : going) {
            const double together = std::min(run.end, other->end) - run.begin;
            if (together <= 0 || !shareOne(run.shared, other->shared))
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
    numberMachines(timed);
    addTogether(timed);
    for (const RunAmongOthers &one : timed)
        m_figures[keyOf(*one.run)] = figureOf(one);
}

std::optional<double> RunsBeside::of(const RunOutcome &run) const {
    const auto found = m_figures.find(keyOf(run));
    return found == m_figures.end() ? std::nullopt : found->second;
}

} // namespace lockstep::core
