// SPDX-License-Identifier: MIT
#include "ipc/reported_facts.h"

#include <algorithm>

namespace lockstep {

void ReportedFacts::take(int node, int rank, const Facts &facts) {
    const Reporter reporter{node, rank};
    for (const auto &[key, value] : facts) {
        const auto known = m_reporters.find(key);
        if (known == m_reporters.end() ? !makeRoomFor(reporter) : known->second <= reporter)
            continue;
        m_facts.insert_or_assign(key, value);
        m_reporters.insert_or_assign(key, reporter);
    }
}

/// False: all there are come from this rank or an earlier one.
bool ReportedFacts::makeRoomFor(const Reporter &reporter) {
    if (m_reporters.size() < m_most)
        return true;
    const auto last = std::ranges::max_element(m_reporters, {}, [](const auto &fact) { return fact.second; });
    if (last == m_reporters.end() || last->second <= reporter)
        return false;
    m_facts.erase(last->first);
    m_reporters.erase(last);
    return true;
}

void ReportedFacts::clear() {
    m_facts.clear();
    m_reporters.clear();
}

} // namespace lockstep
