// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
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

/// Windows of each rank, oldest first, that wait for those of the others. Ranks of which nothing is taken cost nothing.
/// A Window has a step().
template <class Window> class WaitingWindows {
public:
    /// If this rank has more than `most` by now: the step up to which all are to be taken without the missing ranks.
    [[nodiscard]] std::optional<std::int64_t> add(int rank, Window window, std::size_t most) {
        std::deque<Window> &own = m_ranks[rank];
        own.push_back(std::move(window));
        if (own.size() == 1)
            putInOrder(rank, own);
        return own.size() > most ? std::optional(own.front().step()) : std::nullopt;
    }
    /// Passes on, rank by rank, the windows up to that step, and forgets them.
    template <class Use> void take(std::int64_t upTo, Use use) {
        std::vector<int> ranks;
        for (; !m_oldest.empty() && m_oldest.front().first <= upTo; m_oldest.pop_back()) {
            std::ranges::pop_heap(m_oldest, std::greater());
            ranks.push_back(m_oldest.back().second);
        }
        std::ranges::sort(ranks);
        for (const int rank : ranks) {
            std::deque<Window> &own = m_ranks[rank];
            for (; !own.empty() && own.front().step() <= upTo; own.pop_front())
                use(rank, own.front());
            if (!own.empty())
                putInOrder(rank, own);
        }
    }
    /// Until none waits, calls takeUpTo with the step of the oldest window of the rank that has most. It must take() them.
    template <class TakeUpTo> void takeAll(TakeUpTo takeUpTo) {
        std::vector<std::pair<std::size_t, int>> most; // how many, or more than are left; of equals the first rank
        for (const auto &[step, rank] : m_oldest)
            most.emplace_back(m_ranks[rank].size(), -rank);
        std::ranges::make_heap(most);
        while (!most.empty()) {
            std::ranges::pop_heap(most);
            const auto [count, negative] = most.back();
            most.pop_back();
            const std::deque<Window> &own = m_ranks[-negative];
            if (own.size() == count)
                takeUpTo(own.front().step());
            if (own.empty())
                continue;
            most.emplace_back(own.size(), negative);
            std::ranges::push_heap(most);
        }
    }
    /// Of those that wait, in no order. Their steps must stay.
    template <class Use> void each(Use use) {
        for (const auto &[step, rank] : m_oldest)
            std::ranges::for_each(m_ranks[rank], use);
    }
    [[nodiscard]] std::size_t ranks() const { return m_ranks.size(); } ///< those that ever had one
    [[nodiscard]] bool allWait() const { return m_oldest.size() == m_ranks.size(); }

private:
    void putInOrder(int rank, const std::deque<Window> &own) {
        m_oldest.emplace_back(own.front().step(), rank);
        std::ranges::push_heap(m_oldest, std::greater());
    }
    std::map<int, std::deque<Window>> m_ranks;
    std::vector<std::pair<std::int64_t, int>>
        m_oldest; ///< a heap: the first step and the rank of those that have windows
};

} // namespace lockstep::core
