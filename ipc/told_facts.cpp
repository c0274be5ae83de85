// SPDX-License-Identifier: MIT
#include "ipc/told_facts.h"

#include <algorithm>

namespace lockstep {

void ToldFacts::take(int node, int rank, const Facts &facts) {
    const Teller teller{node, rank};
    for (const auto &[key, value] : facts) {
        const auto known = m_tellers.find(key);
        if (known == m_tellers.end() ? !makeRoomFor(teller) : known->second <= teller)
            continue;
        m_facts.insert_or_assign(key, value);
        m_tellers.insert_or_assign(key, teller);
    }
}

/// False: all there are come from this rank or an earlier one.
bool ToldFacts::makeRoomFor(const Teller &teller) {
    if (m_tellers.size() < m_most)
        return true;
    const auto last = std::ranges::max_element(m_tellers, {}, [](const auto &told) { return told.second; });
    if (last == m_tellers.end() || last->second <= teller)
        return false;
    m_facts.erase(last->first);
    m_tellers.erase(last);
    return true;
}

void ToldFacts::clear() {
    m_facts.clear();
    m_tellers.clear();
}

} // namespace lockstep
