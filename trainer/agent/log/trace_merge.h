// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/error.h"

namespace lockstep::agent {

/// A rank whose trace is to be part of the run's.
struct RankTrace {
    int rank = 0;
    std::optional<double> aheadS; ///< how far its node's monotonic clock is ahead of ours; absent: it is ours
    double unsureS = 0;           ///< by how much that may be wrong
    std::string missing;          ///< why its trace may be left out, where it does not come; empty: it is waited for
};

/// Puts the ranks' traces (rank-R.json) in `folder` together as trace.json, one process a rank, with times brought to our clock,
/// once every rank has written a newer one than that. Ranks that may be left out are, and the trace names them and why; when
/// theirs comes after all, it is made again. Nothing while there is nothing new. Gives trace.json's path and who is missing.
class TraceMerge {
public:
    struct Merged {
        std::string path, missing; ///< "rank 2, rank 3"; empty: none
    };
    [[nodiscard]] Result<std::optional<Merged>> look(const std::string &folder, const std::vector<RankTrace> &ranks);

private:
    std::map<int, bool> m_leftOut; ///< of the last merge
};

} // namespace lockstep::agent
