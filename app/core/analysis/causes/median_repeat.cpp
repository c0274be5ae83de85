// SPDX-License-Identifier: MIT
#include "analysis/causes/median_repeat.h"

#include <algorithm>

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

} // namespace lockstep::core
