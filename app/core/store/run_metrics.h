// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/metric_totals.h"
#include "store/loss_series.h"
#include "store/waiting_windows.h"

namespace lockstep::core {

/// The metrics of one run, registered and invented (ipc/metrics.h): curves of all ranks together and of each rank, values by
/// epoch and of the run. At most 32 different ones; curves are of bounded length.
class RunMetrics {
public:
    void setRanks(int count) { m_ranks = count; }
    /// `place`: step, epoch and times of the window.
    void take(int rank, const StepsFrame &frame, const LossPoint &place);
    void take(int rank, const EpochFrame &frame) { m_totals.take(rank, frame); }
    /// LossSeries::placeAnew() of the curves over all ranks, with what still waits for other ranks.
    void placeAnew(const EpochPlaces &places);
    void placeRankAnew(int rank, const EpochPlaces &places); ///< of the rank's own curves
    /// The run is over: joins the remaining windows without the missing ranks.
    void flush();

    /// In the order of metricBefore().
    [[nodiscard]] std::vector<std::string> names() const;
    /// All ranks' windows of about 100 ms as one curve, the value in LossPoint::loss; a point is made when every rank has reached
    /// it. Null: no such metric.
    [[nodiscard]] const LossSeries *series(std::string_view name) const;
    [[nodiscard]] const LossSeries *rankSeries(std::string_view name, int rank) const;
    [[nodiscard]] MetricValues ofEpoch(int epoch) const { return m_totals.ofEpoch(epoch); }
    [[nodiscard]] MetricValues ofRun() const { return m_totals.ofRun(); }
    [[nodiscard]] std::map<int, double> ofRanks(std::string_view name) const { return m_totals.ofRanks(name); }

private:
    struct Waiting {
        std::int64_t first = 0;
        LossPoint place;
        ScalarWindow window;
        [[nodiscard]] std::int64_t step() const { return place.step; }
        [[nodiscard]] Waiting cutOff(std::int64_t upTo);
    };
    struct Metric {
        MetricSpec spec;
        LossSeries all;
        std::map<int, LossSeries> ranks;
        WaitingWindows<Waiting> waiting{};
        std::int64_t joined = 0; ///< a window that ends before this step comes too late for `all`
    };
    Metric *metric(std::string_view name);
    static bool joinNext(Metric &metric, std::int64_t reached);

    int m_ranks = 1;
    std::map<std::string, Metric, std::less<>> m_metrics;
    NewestSteps m_reached; ///< with or without a metric
    MetricTotals m_totals;
};

} // namespace lockstep::core
