// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <set>

#include "ipc/frames.h"
#include "ipc/metric_totals.h"
#include "ipc/run_folder.h"

namespace lockstep::agent {

/// What a run amounts to by its ranks' frames alone: the summary of a script, which writes none itself. What was not
/// reported stays unknown.
class ReportedSummary {
public:
    void take(int rank, const Frame &frame);

    /// Nothing when no epoch was reported by every rank. Method, batch and the rest are what the script said, else what
    /// the record's config claims.
    [[nodiscard]] std::optional<Summary> summary(const RunRecord &record, double runTimeS) const;

private:
    struct Epoch {
        std::set<int> ranks;
        double durationS = 0;                ///< largest over ranks
        std::int64_t samples = 0, steps = 0; ///< summed; most of a rank
        std::optional<double> loss;          ///< as a rank gave it for all
        double lossSum = 0, lossSamples = 0; ///< of the windows
    };
    struct Rank {
        double durationS = 0;
        std::map<std::string, double, std::less<>> phasesS;
    };
    About m_about;
    std::string m_backend;
    std::map<int, Epoch> m_epochs;
    std::map<int, Rank> m_ranks;
    std::optional<EvalFrame> m_eval;
    MetricTotals m_metrics;
};

} // namespace lockstep::agent
