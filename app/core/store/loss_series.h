// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ipc/metrics.h"
#include "store/run_data.h"

namespace lockstep::core {

/// Epochs done after a step.
using EpochsAt = std::function<double(std::int64_t step)>;

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
    void placeAnew(int epoch, const EpochsAt &epochsAt);
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

/// Windows of each rank that wait for those of the others, oldest first, are joined without the missing ranks while one rank has more
/// than `windows`: up to this step, the end of the oldest one of the rank that has most. Absent: none has more.
template <class Waiting, class StepOf>
[[nodiscard]] std::optional<std::int64_t> stepToJoin(const std::map<int, std::deque<Waiting>> &ranks,
                                                     std::size_t windows, StepOf stepOf) {
    const auto most = std::ranges::max_element(ranks, {}, [](const auto &rank) { return rank.second.size(); });
    if (most == ranks.end() || most->second.size() <= windows)
        return std::nullopt;
    return std::invoke(stepOf, most->second.front());
}

/// Joins the ranks' windows into one curve: a point is made when every rank has reached it. For a rank of which nothing is heard, no
/// more than mostWaiting windows of each other rank are held back.
class LossMerger {
public:
    static constexpr std::size_t mostWaiting = 1000; ///< about 100 s
    void setRanks(int count) { m_ranks = count; }
    /// Adds a rank's window; appends to `out` what is now complete.
    void add(int rank, const LossPoint &point, LossSeries &out);
    /// A rank has come to this step and reports no loss: of a pipeline, one rank reports it for all.
    void pass(int rank, std::int64_t step, LossSeries &out);
    /// The run is over: joins the remaining windows without the missing ranks.
    void flush(LossSeries &out) { takeAllBut(0, out); }

private:
    struct Window {
        std::int64_t step = 0;
        std::optional<LossPoint> point; ///< absent: without a loss
    };
    void add(int rank, Window window, LossSeries &out);
    void take(std::int64_t upTo, LossSeries &out);
    void takeAllBut(std::size_t windows, LossSeries &out); ///< without the missing ranks
    int m_ranks = 1;
    std::int64_t m_taken = -1;          ///< up to that step the curve was made without the missing ranks
    std::map<int, std::int64_t> m_last; ///< each rank's newest step
    std::map<int, std::deque<Window>> m_waiting;
};

} // namespace lockstep::core
