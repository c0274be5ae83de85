// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ipc/straggler_detector.h"

namespace lockstep::trainer {

/// Finds each rank's share of a batch such that all ranks have their gradients ready at the same time (--shards measured, adaptive).
///
/// A rank that took t for n samples gets a share in proportion to n / t. The part of t that doesn't depend on n makes that change too
/// small, so it is done twice: after `window` steps with even shares, and again after as many with the first uneven ones. The first
/// `warmUp` steps of each are left out. Then `measured` keeps the shares; `adaptive` repeats it at the end of each epoch. After as many
/// steps again it says what came of a change. Shares change only where that shortens the slowest rank's time by `worthwhile`.
///
/// The same arguments give the same shares: ranks that get the same times agree without a message.
class ShardBalance {
public:
    static constexpr std::size_t warmUp = 5, window = 20, longest = 500;
    static constexpr double worthwhile = 0.02;

    /// `batch`: samples a step of all ranks.
    ShardBalance(std::int64_t batch, int ranks, bool adaptive);

    /// Adds every rank's times of one step, in rank order; none where they are not known.
    void addStep(std::span<const OwnTimes> ranks);
    /// Between two steps: whether the shares have changed.
    [[nodiscard]] bool changesAfterStep();
    /// Before an epoch: the same.
    [[nodiscard]] bool changesAtEpoch();

    [[nodiscard]] const std::vector<std::int64_t> &shares() const { return m_shares; }
    /// What the last judgement found, with its figures, as one sentence; taken once.
    [[nodiscard]] std::optional<std::string> takeSentence();

private:
    [[nodiscard]] bool judge(bool mayChange);
    [[nodiscard]] std::vector<double> medianReadyNs();

    std::int64_t m_batch;
    bool m_adaptive;
    std::vector<std::int64_t> m_shares;
    std::vector<std::vector<double>> m_ready; ///< by rank, of the steps since the shares changed
    std::size_t m_steps = 0;                  ///< since then
    int m_roundsLeft = 2;
    bool m_changed = false;   ///< by the last judgement: what came of it is not said yet
    double m_evenNs = 0;      ///< of the slowest rank with even shares
    double m_predictedNs = 0; ///< of all ranks with the shares of now
    std::optional<std::string> m_sentence;
};

} // namespace lockstep::trainer
