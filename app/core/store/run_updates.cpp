// SPDX-License-Identifier: MIT
#include "store/run_updates.h"

#include <algorithm>

namespace lockstep::core {
namespace {

void add(std::vector<std::int64_t> &to, const std::vector<std::int64_t> &counts) {
    to.resize(std::max(to.size(), counts.size()));
    for (std::size_t i = 0; i < counts.size(); ++i)
        to[i] += counts[i];
}

} // namespace

void RunUpdates::take(int rank, const CommFrame &body) {
    if (!body.staleness.empty())
        add(m_ranks[rank], body.staleness);
}

std::vector<std::int64_t> RunUpdates::byStaleness() const {
    std::vector<std::int64_t> all;
    for (const auto &[rank, counts] : m_ranks)
        add(all, counts);
    return all;
}

double meanStaleness(const std::vector<std::int64_t> &byStaleness) {
    double updates = 0, stale = 0;
    for (std::size_t i = 0; i < byStaleness.size(); ++i) {
        updates += double(byStaleness[i]);
        stale += double(i) * double(byStaleness[i]);
    }
    return updates > 0 ? stale / updates : 0;
}

} // namespace lockstep::core
