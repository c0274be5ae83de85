#pragma once
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "store/run_data.h"

namespace lockstep::core {

/// A loss curve of bounded length: past `limit` points neighbours are merged in pairs, keeping min, max and weighted
/// mean.
class LossSeries {
public:
    explicit LossSeries(std::size_t limit = 100'000) : m_limit(limit) {}
    void append(const LossPoint &point);
    [[nodiscard]] const std::vector<LossPoint> &points() const { return m_points; }
    /// Counts up each time earlier points were merged, so that a reader knows that its indexes are stale.
    [[nodiscard]] int generation() const { return m_generation; }

private:
    std::vector<LossPoint> m_points;
    std::size_t m_limit;
    int m_generation = 0;
};

/// Joins the ranks' windows into one curve: a point is made when every rank has come that far.
class LossMerger {
public:
    void setRanks(int count) { m_ranks = count; }
    /// Adds a rank's window; appends to `out` what is now complete.
    void add(int rank, const LossPoint &point, LossSeries &out);
    /// The run is over: what is left is joined as it is.
    void flush(LossSeries &out);

private:
    void take(std::int64_t upTo, LossSeries &out);
    int m_ranks = 1;
    std::map<int, std::deque<LossPoint>> m_waiting;
};

} // namespace lockstep::core
