// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace lockstep::core {

/// Each rank's newest step. The least of them is known without a look at each rank: a log may name thousands.
class NewestSteps {
public:
    void set(int rank, std::int64_t step) {
        const auto [known, isNew] = m_steps.try_emplace(rank, step);
        if (isNew) {
            m_ordered.emplace(step, rank);
            return;
        }
        auto moved = m_ordered.extract({std::exchange(known->second, step), rank});
        moved.value().first = step;
        m_ordered.insert(std::move(moved));
    }
    void clear() {
        m_steps.clear();
        m_ordered.clear();
    }
    [[nodiscard]] std::optional<std::int64_t> of(int rank) const {
        const auto found = m_steps.find(rank);
        return found == m_steps.end() ? std::nullopt : std::optional(found->second);
    }
    [[nodiscard]] std::optional<std::int64_t> least() const {
        return m_ordered.empty() ? std::nullopt : std::optional(m_ordered.begin()->first);
    }
    [[nodiscard]] std::size_t ranks() const { return m_steps.size(); }

private:
    std::map<int, std::int64_t> m_steps;
    std::set<std::pair<std::int64_t, int>> m_ordered;
};

/// Windows of each rank, oldest first, that wait for those of the others to be joined into the points of a curve. A point ends with a
/// window, and every rank that reported the steps up to there has a part in it: a window that goes on after the point is divided
/// between it and the next one. A point takes a whole window at least of each rank that was at work when the first of its windows
/// ended, so that all points together cost no more than the windows. Ranks of which nothing is taken cost nothing.
/// A Window has `first`, its first step; step(), its last one; and cutOff(step), which removes and returns its part up to that step.
/// The part's own step() is -1, as it doesn't end with the point.
template <class Window> class WaitingWindows {
public:
    void add(int rank, Window window) {
        std::deque<Window> &own = m_ranks[rank];
        own.push_back(std::move(window));
        if (own.size() == 1)
            putInOrder(rank, own);
    }
    [[nodiscard]] std::size_t count(int rank) const {
        const auto found = m_ranks.find(rank);
        return found == m_ranks.end() ? 0 : found->second.size();
    }
    static constexpr std::int64_t withoutMissing = std::numeric_limits<std::int64_t>::max();
    /// Passes on, rank by rank, the windows of the next point, and forgets them. Returns the step at which the point ends; absent: it
    /// is incomplete. `reached`: the step that every rank has reached; withoutMissing: what waits is all that there is.
    template <class Use> std::optional<std::int64_t> takeNext(std::int64_t reached, Use use) {
        findNext(reached);
        if (m_taking.empty() || m_end > reached)
            return std::nullopt;
        while (!m_waiting.empty() && m_waiting.front().first <= m_end)
            m_taking.push_back(earliest());
        std::vector<int> ranks;
        ranks.swap(m_taking);
        std::ranges::sort(ranks);
        for (const int rank : ranks) {
            std::deque<Window> &own = m_ranks[rank];
            for (; !own.empty() && own.front().step() <= m_end; own.pop_front())
                use(rank, own.front());
            if (own.empty())
                continue;
            if (own.front().first <= m_end)
                use(rank, own.front().cutOff(m_end));
            putInOrder(rank, own);
        }
        return m_end;
    }
    /// Of those that wait, in no order. Their steps must stay.
    template <class Use> void each(Use use) {
        for (const auto &[first, rank] : m_waiting)
            std::ranges::for_each(m_ranks[rank], use);
        for (const int rank : m_taking)
            std::ranges::for_each(m_ranks[rank], use);
    }

private:
    void putInOrder(int rank, const std::deque<Window> &own) {
        m_waiting.emplace_back(own.front().first, rank);
        std::ranges::push_heap(m_waiting, std::greater());
    }
    int earliest() {
        std::ranges::pop_heap(m_waiting, std::greater());
        const int rank = m_waiting.back().second;
        m_waiting.pop_back();
        return rank;
    }
    /// The ranks at work when the first of the waiting windows ends, as far as `reached` shows them, and the last end of their windows.
    void findNext(std::int64_t reached) {
        while (!m_waiting.empty() &&
               m_waiting.front().first <= (m_taking.empty() ? reached : std::min(reached, m_firstEnd))) {
            const int rank = earliest();
            const std::int64_t end = m_ranks[rank].front().step();
            m_firstEnd = m_taking.empty() ? end : std::min(m_firstEnd, end);
            m_end = m_taking.empty() ? end : std::max(m_end, end);
            m_taking.push_back(rank);
        }
    }
    std::map<int, std::deque<Window>> m_ranks;
    std::vector<std::pair<std::int64_t, int>>
        m_waiting;                          ///< a heap: first step and rank of those with windows, m_taking aside
    std::vector<int> m_taking;              ///< found for the next point
    std::int64_t m_firstEnd = 0, m_end = 0; ///< steps: the first and the last end of their first windows
};

} // namespace lockstep::core
