// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <vector>

#include "trainer/engine/rank_session.h"
#include "trainer/report/shard_balance.h"

namespace lockstep::trainer {

/// Gives slower ranks fewer samples of each batch (--shards). All ranks have the same times and change at the same step; rank 0 logs
/// what was found. Does nothing where the shards are even. Used from the training thread.
class UnevenShards {
public:
    explicit UnevenShards(Session &session); ///< it must outlive this

    /// After a step. True: the loader must start the epoch again at the next step.
    [[nodiscard]] bool addStep();
    /// Before the loader starts an epoch.
    void startEpoch();

    [[nodiscard]] bool on() const { return m_balance.has_value(); }
    /// Samples of each rank in a batch, by rank.
    [[nodiscard]] const std::vector<std::int64_t> &shares() const { return m_balance->shares(); }

private:
    void report();

    Session &m_session;
    std::optional<ShardBalance> m_balance;
};

} // namespace lockstep::trainer
