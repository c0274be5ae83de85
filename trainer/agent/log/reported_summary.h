// SPDX-License-Identifier: MIT
#pragma once
#include <climits>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/frames.h"
#include "ipc/metric_totals.h"
#include "ipc/rank_attempts.h"
#include "ipc/reported_facts.h"
#include "ipc/run_folder.h"

namespace lockstep::agent {

/// The summary of a run, made from its ranks' frames alone, for scripts that write no summary. What was not reported
/// stays unknown.
class ReportedSummary {
public:
    void take(int rank, const Frame &frame);
    /// The ranks are started again: what they report next replaces what they have reported of that epoch and later ones.
    void startOver();
    /// Epochs after this one are of ranks that were started again and are counted on (epoch_numbers.h).
    void countOn(int after) { m_countedOnAfter = m_countedOnAfter.value_or(after); }
    /// A frame was refused or lost: it may have been an epoch's.
    void missFrame() { m_complete = false; }

    /// Absent when no epoch was reported by every rank. Method, batch size and the like are what the script reported,
    /// else what the record's configuration says. The training time is unknown where an epoch was reported again without a restart, or
    /// the first one is not number 1: then what came before it is not known here. Of a run of more
    /// than 100,000 epochs no loss, training time, phases or steps are known.
    [[nodiscard]] std::optional<Summary> summary(const RunRecord &record, double runTimeS) const;
    /// Adds to a result that has no summary: the summary, and a warning for what is unknown of it although every epoch was reported. Of
    /// a stopped run it is that of the epochs before the one that was stopped. A run that failed, or was stopped after it had gone on
    /// from a checkpoint, gets nothing.
    void addTo(RunResult &result, const RunRecord &record) const;
    /// Those warnings alone, to the same results: for a run over several nodes, whose other ranks report elsewhere, no summary can be
    /// made here.
    void addWarnings(RunResult &result, const RunRecord &record) const;

private:
    /// Of one rank in one epoch. There may be many of them: a phase takes 16 bytes, its name none.
    struct Part {
        double durationS = 0;
        std::vector<std::pair<std::size_t, double>> phasesS; ///< by index in m_phases
    };
    struct Epoch {
        std::map<int, Part> ranks;
        std::int64_t samples = 0, steps = 0; ///< summed over the ranks; largest of the ranks
        std::optional<double> loss;          ///< of all ranks, as the least that reported it says; see meanLoss
        int lossRank = INT_MAX;              ///< that rank
        double meanLoss = 0;                 ///< of `lossRanks` ranks' own
        int lossRanks = 0;
        bool diverged = false;                  ///< a rank reported a loss that is not finite
        double lossSum = 0, lossSamples = 0;    ///< from the windows of steps
        [[nodiscard]] double durationS() const; ///< largest of the ranks
        [[nodiscard]] std::optional<double> knownLoss() const;
    };
    struct Test {
        int rank; ///< of those that tested the epoch's model the least
        double accuracy;
        std::vector<double> perClassAccuracy;
    };
    void take(int rank, const StepsFrame &steps);
    void take(int rank, const EpochFrame &done);
    void take(int rank, const EvalFrame &eval);
    [[nodiscard]] Epoch *at(int epoch); ///< absent: there are too many, and m_firstBeyond says so
    void forget(int from);
    /// Those epochs at the end of which no rank has reported more than steps do not count.
    [[nodiscard]] ReportedSummary withoutBegunEpochs() const;
    [[nodiscard]] Part partOf(const EpochFrame &done);
    void addKnownGaps(RunResult &result) const;
    [[nodiscard]] bool beginsLate() const; ///< the first epoch that was reported is not number 1
    [[nodiscard]] bool hasAllEpochs(const RunRecord &record) const;
    [[nodiscard]] bool takeEpochs(const RunRecord &record, Summary &out) const; ///< false: something of them is unknown
    [[nodiscard]] std::map<std::string, double, std::less<>> phasesOfSlowest() const;

    ReportedFacts m_about{mostWords};
    std::string m_backend;       ///< as the lowest rank that has one says
    int m_backendRank = INT_MAX; ///< that rank
    std::map<int, Epoch> m_epochs;
    std::map<std::string, std::size_t, std::less<>> m_phases; ///< index by name
    std::map<int, Test> m_tests;                              ///< by epoch: the newest ones
    MetricTotals m_metrics;
    bool m_complete = true, m_startsOver = false;
    RankAttempts m_attempts;
    std::optional<std::pair<int, int>> m_repeated; ///< rank and epoch: reported again without a restart
    std::optional<int> m_countedOnAfter;           ///< the first time
    std::optional<int> m_firstBeyond;              ///< the least epoch that m_epochs has no room for
};

} // namespace lockstep::agent
