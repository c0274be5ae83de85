// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/error.h"

namespace lockstep::agent {

inline constexpr std::size_t largestTrace = 64 << 20;        ///< of one rank; 10,000 steps of LeNet take 15 MB
inline constexpr std::size_t largestMergedTrace = 512 << 20; ///< of all ranks

/// The file that a rank has written; an error if it is larger than largestTrace.
[[nodiscard]] Result<std::string> readTrace(const std::string &path);

/// A rank whose trace belongs into the run's trace.
struct RankTrace {
    int rank = 0;
    std::optional<double> aheadS; ///< seconds that its node's monotonic clock is ahead of ours; absent: the same clock
    double unsureS = 0;           ///< possible error of aheadS, in seconds
    std::string missing;          ///< why the trace may be left out if it does not come; empty: wait for it
};

/// Merges the ranks' traces (rank-R.json) in `folder` into trace.json, one process per rank, with all times on node 0's
/// clock. It does so once every rank has written a trace since the last merge. A rank that may be left out and
/// has no new trace is named in trace.json with the reason; if its trace comes later, everything is merged again.
/// Returns trace.json's path and the missing ranks, or nothing if there is nothing new. An error is returned once for the same
/// traces. Those that could not be written are tried again after a pause, since reading all of them takes a while.
/// A trace whose times are none that the trainer writes, or too many, is refused, and one with a line that is no event of its rank.
class TraceMerge {
public:
    explicit TraceMerge(std::chrono::milliseconds pause = std::chrono::seconds(30),
                        std::uint64_t mostBytes = largestMergedTrace);
    ~TraceMerge();
    struct Merged {
        std::string path, missing; ///< "rank 2, rank 3"; empty: none
    };
    using Outcome = Result<std::optional<Merged>>;
    [[nodiscard]] Outcome poll(const std::string &folder, const std::vector<RankTrace> &ranks);
    /// The same in pieces of at most one rank's trace: absent as long as there is more to do. The arguments are those of the
    /// first piece.
    [[nodiscard]] std::optional<Outcome> step(const std::string &folder, const std::vector<RankTrace> &ranks);
    void giveUp(); ///< removes what the merge that goes on has written

private:
    using Times = std::map<int, std::filesystem::file_time_type>; ///< when each rank's trace was written
    class Events;
    class Work;
    bool begin(const std::string &folder, const std::vector<RankTrace> &ranks);

    std::chrono::milliseconds m_pause;
    std::uint64_t m_mostBytes;
    std::unique_ptr<Work> m_work; ///< while a merge goes on
    Times m_refused;              ///< of those that can't be merged, or not be written
    std::optional<std::chrono::steady_clock::time_point> m_tryAgain; ///< absent: they will never be merged
    Times m_merged;                                                  ///< of those that the last merge found
    std::map<int, bool> m_leftOut;                                   ///< ranks that the last merge left out
};

} // namespace lockstep::agent
