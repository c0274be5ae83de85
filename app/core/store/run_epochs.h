// SPDX-License-Identifier: MIT
#pragma once
#include <climits>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "ipc/rank_attempts.h"
#include "store/run_data.h"

namespace lockstep::core {

/// Of a run that is over: whether it ended in the middle of its last epoch. No other epoch can be a part.
[[nodiscard]] bool endInPart(const std::vector<MergedEpoch> &epochs);

/// The epochs of a run: each rank's own reports, and one epoch over all ranks.
class RunEpochs {
public:
    /// A window of steps: its epoch has begun. Steps that are made again are of ranks that were restarted: returns what all ranks had
    /// reported from that epoch on, which counts no more.
    [[nodiscard]] std::vector<RankEpoch> take(int rank, const StepsFrame &body);
    void take(int rank, const StateFrame &body) { m_attempts.take(rank, body); }
    /// All ranks are started again: what they report next begins their new attempt, though no step may show it.
    void startOver() { m_startsOver = true; }
    /// The same as for a window, of ranks that report nothing before the end of this epoch.
    [[nodiscard]] std::vector<RankEpoch> madeAgain(int epoch);
    /// Training time of a rank's windows of `epoch` so far.
    void running(int epoch, double seconds);
    /// A rank's epoch is done; `ranks`: how many ranks the run has; `script`: they run a script, and where they count no samples, the
    /// loss that each reports is its own. False: the epoch was reported before (repeated()), or is impossible.
    bool take(int rank, const Frame &frame, const EpochFrame &body, int ranks, bool script = false);
    /// Tests of the first node that has any count. False: the epoch is impossible, or the test doesn't count.
    bool take(const Frame &frame, const EvalFrame &body);

    /// By epoch, without gaps from 1 to the newest reported one. Their devices and accuracies by class are 1,000,000 in all: beyond that
    /// the oldest epochs have none.
    [[nodiscard]] const std::vector<MergedEpoch> &merged() const { return m_epochs; }
    [[nodiscard]] const MergedEpoch *find(int epoch) const; ///< null: none of them
    /// Sum of their durations, seconds; of an unfinished epoch, what its first ranks reported.
    [[nodiscard]] double trainingS() const;
    /// In order of arrival, those of lost attempts included.
    [[nodiscard]] const std::vector<RankEpoch> &ofRanks() const { return m_rankEpochs; }
    /// Whether that one of ofRanks() is of no lost attempt.
    [[nodiscard]] bool counts(std::size_t place) const;
    /// An epoch that a rank reported again without a restart: a further training, of which merged() knows nothing.
    struct Repeated {
        int rank = 0, epoch = 1;
    };
    [[nodiscard]] const std::optional<Repeated> &repeated() const { return m_repeated; }
    /// An epoch of which ranks report different losses, as ranks of a script may do, each its own. Absent: there is none.
    [[nodiscard]] std::optional<int> ofUnlikeLosses() const { return m_ofUnlikeLosses; }

private:
    MergedEpoch &at(int epoch);
    [[nodiscard]] bool plausible(int epoch) const;
    [[nodiscard]] std::vector<RankEpoch> forget(int from);
    void dropEvalsAfter(int node);
    void dropHollowEpochs(); ///< the newest, of which nothing is known
    /// The lists of that epoch have changed; `before`: how many entries they had.
    void countLists(MergedEpoch &epoch, std::size_t before);

    /// Losses of a rank's windows since its last finished epoch, for scripts that report no loss by epoch.
    struct WindowLosses {
        int epoch = 0;
        double sum = 0, samples = 0;
    };
    std::vector<MergedEpoch> m_epochs;
    int m_skipped = 0;              ///< epochs that were added because a later one arrived first
    std::size_t m_listed = 0;       ///< entries of the lists in m_epochs
    std::size_t m_withoutLists = 0; ///< so many of the first epochs have none any more
    std::vector<RankEpoch> m_rankEpochs;
    std::map<int, std::vector<std::size_t>> m_reports; ///< by epoch: those of m_rankEpochs that count
    std::map<int, WindowLosses> m_windows;             ///< by rank
    RankAttempts m_attempts;
    std::optional<Repeated> m_repeated; ///< the first epoch of which that is so
    std::optional<int> m_ofUnlikeLosses;
    int m_testingNode = INT_MAX; ///< the first one whose ranks have tested the model
    bool m_startsOver = false;
};

} // namespace lockstep::core
