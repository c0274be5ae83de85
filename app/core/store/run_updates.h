// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "ipc/frames.h"

namespace lockstep::core {

/// How stale the updates of an asynchronous parameter server were, over the whole run so far. Empty for other methods.
class RunUpdates {
public:
    void take(int rank, const CommFrame &body);

    /// Updates by their staleness, 0 first, of all ranks; the last entry that fits, mostStaleness, counts all from there on.
    [[nodiscard]] std::vector<std::int64_t> byStaleness() const;
    /// The same of each rank that has reported any.
    [[nodiscard]] const std::map<int, std::vector<std::int64_t>> &ofRanks() const { return m_ranks; }

private:
    std::map<int, std::vector<std::int64_t>> m_ranks;
};

/// Mean staleness of some updates; 0 of none.
[[nodiscard]] double meanStaleness(const std::vector<std::int64_t> &byStaleness);

} // namespace lockstep::core
