// SPDX-License-Identifier: MIT
#pragma once
// Totals of a run's metrics by epoch and over the run, computed from its ranks' frames.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/metrics.h"

namespace lockstep {

/// Adds up the frames of all ranks; each rank's must come in order. An epoch's own frame replaces the sum of its
/// windows. Memory is bounded: 32 metrics and 10,000 epochs; the rest is dropped.
class MetricTotals {
public:
    void take(int rank, const StepsFrame &frame) { take(rank, frame, scalarsOf(frame)); }
    /// `scalars` is scalarsOf(frame), for callers that have it already.
    void take(int rank, const StepsFrame &frame, Scalars scalars);
    void take(int rank, const EpochFrame &frame);

    /// Without the metrics whose value is not finite.
    [[nodiscard]] MetricValues ofEpoch(int epoch) const;
    [[nodiscard]] MetricValues ofRun() const;
    /// A metric of the run by rank: each rank's own value.
    [[nodiscard]] std::map<int, double> ofRanks(std::string_view name) const;

private:
    struct Part {
        Scalars windows;              ///< sum of the windows so far
        std::optional<Scalars> whole; ///< from the epoch's frame
        std::int64_t lastStep = -1;   ///< of the windows
        [[nodiscard]] const Scalars &scalars() const { return whole ? *whole : windows; }
    };
    [[nodiscard]] Part *part(int epoch, int rank);
    using RankWindows = std::map<std::string, std::vector<ScalarWindow>, std::less<>>; ///< by name, one window per rank
    void keepKnown(Scalars &scalars);
    [[nodiscard]] MetricValues valuesOf(const RankWindows &windows) const;
    [[nodiscard]] std::map<int, Scalars> wholeRun() const; ///< by rank

    std::map<int, std::map<int, Part>> m_epochs; ///< by epoch, by rank
    std::map<std::string, MetricSpec, std::less<>> m_specs;
};

} // namespace lockstep
