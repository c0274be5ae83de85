// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ipc/metrics.h"
#include "store/run_data.h"
#include "store/waiting_windows.h"

namespace lockstep::core {

/// Where the windows of an epoch belong, as far as is known now.
struct EpochPlaces {
    int epoch = 1;
    std::int64_t lastStep = -1;                          ///< of its windows
    std::function<double(std::int64_t step)> epochsDone; ///< after one of its steps
};

/// Places a point of this epoch by its step, and leaves one of another epoch where it is. True: it has moved.
bool moveTo(LossPoint &point, const EpochPlaces &places);

/// A curve of the loss, or of a metric, of bounded length: past `limit` points neighbours are merged in pairs, keeping min, max
/// and, by `over`, the weighted mean, the later or the larger value. Its steps only rise: steps repeated after a restart
/// replace the earlier ones.
class LossSeries {
public:
    static constexpr std::size_t usualLimit = 100'000;
    explicit LossSeries(std::size_t limit = usualLimit, OverSteps over = OverSteps::Mean)
        : m_limit(limit), m_over(over) {}
    void append(const LossPoint &point);
    /// The points of an epoch get new places by their steps: its length is known better than when they came.
    void placeAnew(const EpochPlaces &places);
    [[nodiscard]] const std::vector<LossPoint> &points() const { return m_points; }
    /// Increases each time earlier points are merged, replaced or moved: then a reader's indexes are stale.
    [[nodiscard]] int generation() const { return m_generation; }
    /// The most windows merged into one point; 1 before the first merge.
    [[nodiscard]] int windowsAPoint() const { return m_windowsAPoint; }

private:
    std::vector<LossPoint> m_points;
    std::size_t m_limit;
    OverSteps m_over;
    int m_generation = 0, m_windowsAPoint = 1;
};

/// Joins the ranks' windows into one curve, as WaitingWindows divides them: a point is made when every rank has reached it. For a
/// rank that reports nothing, no more than mostWaiting windows of each other rank are held back.
class LossMerger {
public:
    static constexpr std::size_t mostWaiting = 1000; ///< about 100 s
    void setRanks(int count) { m_ranks = std::size_t(std::max(1, count)); }
    /// Adds a rank's window, of the steps from firstStep to that of the point; appends to `out` what is now complete.
    void add(int rank, std::int64_t firstStep, const LossPoint &point, LossSeries &out);
    /// A rank has come to this step and reports no loss: of a pipeline, one rank reports it for all.
    void pass(int rank, std::int64_t step, LossSeries &out);
    /// LossSeries::placeAnew() of the windows that wait.
    void placeAnew(const EpochPlaces &places);
    /// The run is over: joins the remaining windows without the missing ranks.
    void flush(LossSeries &out);

private:
    struct Window {
        std::int64_t first = 0;
        LossPoint point;
        [[nodiscard]] std::int64_t step() const { return point.step; }
        [[nodiscard]] Window cutOff(std::int64_t upTo);
    };
    void reach(int rank, std::int64_t step, LossSeries &out);
    void takeComplete(LossSeries &out);
    bool take(std::int64_t reached, LossSeries &out);
    std::size_t m_ranks = 1;
    std::size_t m_known = 0;  ///< ranks that have ever reported
    std::int64_t m_taken = 0; ///< a window that ends before this step comes too late for the curve
    NewestSteps m_reached;    ///< since all ranks began
    WaitingWindows<Window> m_waiting;
};

} // namespace lockstep::core
