// SPDX-License-Identifier: MIT
#include "analysis/causes/median_repeat.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

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
    std::unordered_map<std::string, std::size_t> places; // by run id
    for (std::size_t i = 0; i < runs.size(); ++i)
        places.try_emplace(runs[i]->runId().toStdString(), i);
    std::vector<RowRepeat> out;
    for (const ResultRow &row : table.rows) {
        std::set<std::size_t> ofRow; // in the order of `runs`
        for (const std::string &id : row.runs)
            if (const auto place = places.find(id); place != places.end())
                ofRow.insert(place->second);
        std::vector<const RunStore *> repeats;
        for (const std::size_t place : ofRow)
            repeats.push_back(runs[place]);
        if (const RunStore *run = medianRepeat(repeats))
            out.push_back({row.name, run, run->record() ? run->record()->repeat : 1, int(repeats.size())});
    }
    return out;
}

} // namespace lockstep::core
