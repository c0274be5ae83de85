// SPDX-License-Identifier: MIT
#pragma once
// Totals of a run's metrics by epoch and over the run, computed from its ranks' frames.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/metrics.h"

namespace lockstep {

/// Adds up the frames of all ranks; each rank's must come in order. An epoch's own frame replaces the sum of its
/// windows. Memory is bounded: 32 metrics, the rest is dropped, and the newest 10,000 epochs; earlier ones count for the run alone.
class MetricTotals {
public:
    void take(int rank, const StepsFrame &frame) { take(rank, frame, scalarsOf(frame)); }
    /// `scalars` is scalarsOf(frame), for callers that have it already.
    void take(int rank, const StepsFrame &frame, const Scalars &scalars);
    void take(int rank, const EpochFrame &frame);

    /// Without the metrics whose value is not finite. A rate that ranks add up to, such as the training speed, is their sum in the longest
    /// rank's time.
    [[nodiscard]] MetricValues ofEpoch(int epoch) const;
    [[nodiscard]] MetricValues ofRun() const;
    /// A metric of the run by rank: each rank's own value.
    [[nodiscard]] std::map<int, double> ofRanks(std::string_view name) const;

private:
    /// Of one rank in one epoch. There may be many of them: a value takes 48 bytes, a name none.
    struct Value {
        std::size_t metric; ///< index in m_specs
        ScalarWindow window;
    };
    struct Part {
        std::vector<Value> values; ///< sums of the windows so far, or those of the epoch's frame
        bool whole = false;        ///< the epoch's frame has come
        std::int64_t lastStep = -1;
        [[nodiscard]] ScalarWindow *find(std::size_t metric);
        void add(std::span<const Value> more);
    };
    [[nodiscard]] Part *part(int epoch, int rank);
    [[nodiscard]] bool addsUp(std::size_t metric) const; ///< over epochs; of others the last counts
    void foldOldest();
    void forgetAfter(int epoch, int rank);
    using Windows = std::vector<std::vector<ScalarWindow>>; ///< by metric, one window per rank
    [[nodiscard]] std::vector<Value> known(const Scalars &scalars);
    [[nodiscard]] MetricValues valuesOf(const Windows &windows) const;
    [[nodiscard]] std::map<int, Part> wholeRun() const; ///< by rank

    std::map<int, std::map<int, Part>> m_epochs; ///< by epoch, by rank
    std::map<int, std::vector<int>> m_epochsOf;  ///< by rank: those of m_epochs that have a part of it, rising
    /// What the run needs of epochs before, by metric, by rank.
    std::map<std::size_t, std::map<int, ScalarWindow>> m_earlier;
    std::vector<MetricSpec> m_specs;                           ///< in the order in which they came
    std::map<std::string, std::size_t, std::less<>> m_metrics; ///< index in m_specs by name
};

} // namespace lockstep
