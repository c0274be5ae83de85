// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "ipc/frames.h"
#include "trainer/strategies/bucket_hook.h"

namespace lockstep::trainer {

/// Sets the start times of buckets that are reduced in FIFO order by N workers (NCCL's stream, the server's thread, Gloo's threads):
/// each starts when it was posted (`startNs`, or ready where that is 0) and a worker is free. Until then it is not under way.
void startInTurn(std::vector<BucketStamp> &buckets, std::size_t hands = 1);

/// Adds up what communication did, step by step, into a comm frame.
class CommStatistics {
public:
    struct Step {
        std::int64_t commNs = 0, hiddenNs = 0; ///< time with a bucket under way; the part of it inside backward
        /// The part of a wait for slower ranks that lies in both this and what was exposed, or in the sharing of buffers before. Each rank
        /// counts from the end of its own last all-reduce, so a wait may come out longer than what it is a part of.
        [[nodiscard]] std::int64_t waitWithin(std::int64_t exposedNs, std::int64_t buffersNs,
                                              std::int64_t waitNs) const;
    };
    /// `backwardNs`: when backward began; buckets are in the order in which they were started.
    Step add(const std::vector<BucketStamp> &buckets, std::int64_t backwardNs);
    void addExposed(std::int64_t exposedNs, std::optional<std::int64_t> waitNs);
    /// What was added since the last call; its steps are counted from 0.
    [[nodiscard]] std::optional<CommFrame> take();

private:
    struct Sum {
        std::int64_t bytes = 0, count = 0, readyNs = 0, startNs = 0, endNs = 0;
    };
    std::vector<Sum> m_buckets;
    std::int64_t m_hiddenNs = 0, m_exposedNs = 0, m_waitNs = 0, m_steps = 0;
    bool m_waitKnown = false;
};

} // namespace lockstep::trainer
