// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "store/loss_series.h"

namespace lockstep::core {

/// The loss of a run: one curve over all ranks, and one of each rank.
class RunLosses {
public:
    /// Steps of a window whose loss was not finite: training diverged.
    struct Divergence {
        std::int64_t firstStep = 0, lastStep = 0;
        double loss = 0;        ///< NaN or infinite
        bool recovered = false; ///< the rank's newest window is finite again
    };

    void setRanks(int count) { m_merger.setRanks(count); }
    /// `place`: step, epoch and times of the window. A window without a loss is ignored.
    void take(int rank, LossPoint place, const StepsFrame &body);
    /// LossSeries::placeAnew() of the curve over all ranks, with what still waits for other ranks.
    void placeAnew(const EpochPlaces &places);
    void placeRankAnew(int rank, const EpochPlaces &places); ///< of the rank's own curve
    /// The run is over: points that still wait for another rank are joined without that rank.
    void join() { m_merger.flush(m_all); }

    /// By windows of about 100 ms.
    [[nodiscard]] const LossSeries &all() const { return m_all; }
    [[nodiscard]] const LossSeries *ofRank(int rank) const; ///< null: none reported

    /// Of the rank that diverged first; absent: every loss was finite.
    [[nodiscard]] std::optional<Divergence> divergence() const;

private:
    void watch(int rank, const StepsFrame &body);
    LossSeries m_all;
    LossMerger m_merger;
    std::map<int, LossSeries> m_ranks;
    std::map<int, Divergence> m_diverged; ///< by rank
};

} // namespace lockstep::core
