// SPDX-License-Identifier: MIT
#include "analysis/causes/median_repeat.h"

#include <algorithm>

#include "analysis/compare/result_table.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

double trainingSOf(const RunStore *store) {
    return store->epochs().trainingS();
}

} // namespace

const RunStore *medianRepeat(const std::vector<const RunStore *> &repeats) {
    std::vector<const RunStore *> done;
    const RunStore *newest = repeats.empty() ? nullptr : repeats.back();
    bool hasSteps = false;
    for (auto it = repeats.rbegin(); it != repeats.rend() && !hasSteps; ++it)
        if (!(*it)->losses().all().points().empty()) {
            newest = *it;
            hasSteps = true;
        }
    for (const RunStore *one : repeats)
        if (one->state() == RunState::Done && !one->epochs().merged().empty())
            done.push_back(one);
    if (done.empty())
        return newest;
    std::ranges::stable_sort(done, {}, trainingSOf);
    return done[(done.size() - 1) / 2];
}

std::vector<RowRepeat> medianRepeats(const ResultTable &table, const std::vector<const RunStore *> &runs) {
    std::vector<RowRepeat> out;
    for (const ResultRow &row : table.rows) {
        std::vector<const RunStore *> repeats;
        for (const RunStore *run : runs)
            if (std::ranges::find(row.runs, run->runId().toStdString()) != row.runs.end())
                repeats.push_back(run);
        if (const RunStore *run = medianRepeat(repeats))
            out.push_back({row.name, run, run->record() ? run->record()->repeat : 1, int(repeats.size())});
    }
    return out;
}

} // namespace lockstep::core
