// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace lockstep {

/// Facts that ranks report of their whole run, a text by key. If several ranks report a key, the first node's lowest rank counts,
/// whenever its report comes; of that rank, its first report. Once there are `most` keys, those of the last ranks are dropped for new ones.
class ReportedFacts {
public:
    using Facts = std::map<std::string, std::string, std::less<>>;
    explicit ReportedFacts(std::size_t most) : m_most(most) {}

    void take(int node, int rank, const Facts &facts);
    void clear();
    [[nodiscard]] const Facts &all() const { return m_facts; }

private:
    using Reporter = std::pair<int, int>; ///< node and rank
    [[nodiscard]] bool makeRoomFor(const Reporter &reporter);

    std::size_t m_most;
    Facts m_facts;
    std::map<std::string, Reporter, std::less<>> m_reporters; ///< of the same keys
};

} // namespace lockstep
