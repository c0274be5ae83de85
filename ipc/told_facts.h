// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace lockstep {

/// Facts that ranks tell of their whole run, a text by key. Of several ranks that tell a key, the first node's lowest rank is believed,
/// whenever it comes; of what that rank tells, the first. Once there are `most` keys, those of the last ranks make room.
class ToldFacts {
public:
    using Facts = std::map<std::string, std::string, std::less<>>;
    explicit ToldFacts(std::size_t most) : m_most(most) {}

    void take(int node, int rank, const Facts &facts);
    void clear();
    [[nodiscard]] const Facts &all() const { return m_facts; }

private:
    using Teller = std::pair<int, int>; ///< node and rank
    [[nodiscard]] bool makeRoomFor(const Teller &teller);

    std::size_t m_most;
    Facts m_facts;
    std::map<std::string, Teller, std::less<>> m_tellers; ///< of the same keys
};

} // namespace lockstep
