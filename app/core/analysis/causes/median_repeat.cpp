// SPDX-License-Identifier: MIT
#include "analysis/causes/median_repeat.h"

#include <algorithm>
#include <utility>

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

std::vector<NamedRepeat> medianRepeats(const std::vector<const RunStore *> &runs) {
    std::vector<std::pair<std::string, std::vector<const RunStore *>>> byName;
    for (const RunStore *run : runs) {
        const std::string name = run->record() ? run->record()->name : run->runId().toStdString();
        auto found = std::ranges::find(byName, name, &decltype(byName)::value_type::first);
        if (found == byName.end())
            found = byName.insert(byName.end(), {name, {}});
        found->second.push_back(run);
    }
    std::vector<NamedRepeat> out;
    for (const auto &[name, repeats] : byName) {
        const RunStore *run = medianRepeat(repeats);
        out.push_back({name, run, run->record() ? run->record()->repeat : 1, int(repeats.size())});
    }
    return out;
}

} // namespace lockstep::core
