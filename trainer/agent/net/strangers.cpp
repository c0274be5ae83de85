// SPDX-License-Identifier: MIT
#include "trainer/agent/net/strangers.h"

#include <algorithm>
#include <map>

namespace lockstep::agent {

Strangers::Id Strangers::add(const std::string &address, std::function<void()> evict) {
    const auto own = std::ranges::count(m_all, address, &One::address);
    if (static_cast<std::size_t>(own) >= mostOfOneAddress)
        evictOldestOf(address);
    else if (m_all.size() >= most)
        evictOldestOf(busiestAddress());
    m_all.push_back({++m_last, address, std::move(evict)});
    return m_last;
}

void Strangers::remove(Id id) {
    m_all.remove_if([id](const One &one) { return one.id == id; });
}

void Strangers::evictOldestOf(const std::string &address) {
    const auto oldest = std::ranges::find(m_all, address, &One::address);
    const auto evict = std::move(oldest->evict);
    m_all.erase(oldest);
    evict();
}

std::string Strangers::busiestAddress() const {
    std::map<std::string, int> counts;
    for (const One &one : m_all)
        ++counts[one.address];
    return std::ranges::max_element(counts, {}, [](const auto &count) { return count.second; })->first;
}

} // namespace lockstep::agent
