// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <vector>

#include "store/run_data.h"

namespace lockstep::core {

/// The epochs of a run: each rank's own reports, and one epoch over all ranks.
class RunEpochs {
public:
    /// A window of steps: its epoch has begun.
    void take(int rank, const StepsFrame &body);
    /// Training time of a rank's windows of `epoch` so far.
    void running(int epoch, double seconds);
    /// A rank's epoch is done; `ranks`: how many ranks the run has. False: the epoch was reported before, or is impossible.
    bool take(int rank, const Frame &frame, const EpochFrame &body, int ranks);
    /// False: the epoch is impossible.
    bool take(const Frame &frame, const EvalFrame &body);

    /// By epoch, without gaps from 1 to the newest reported one.
    [[nodiscard]] const std::vector<MergedEpoch> &merged() const { return m_epochs; }
    /// Sum of their durations, seconds; of an unfinished epoch, what its first ranks reported.
    [[nodiscard]] double trainingS() const;
    [[nodiscard]] const std::vector<RankEpoch> &ofRanks() const { return m_rankEpochs; } ///< in order of arrival

private:
    MergedEpoch &at(int epoch);
    [[nodiscard]] bool plausible(int epoch) const;

    /// Losses of a rank's windows since its last finished epoch, for scripts that report no loss by epoch.
    struct WindowLosses {
        int epoch = 0;
        std::int64_t reached = -1; ///< step
        double sum = 0, samples = 0;
    };
    std::vector<MergedEpoch> m_epochs;
    int m_skipped = 0; ///< epochs that were added because a later one arrived first
    std::vector<RankEpoch> m_rankEpochs;
    std::map<int, WindowLosses> m_windows; ///< by rank
};

} // namespace lockstep::core
