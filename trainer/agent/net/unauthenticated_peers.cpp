// SPDX-License-Identifier: MIT
#include "trainer/agent/net/unauthenticated_peers.h"

#include <algorithm>
#include <map>

namespace lockstep::agent {

UnauthenticatedPeers::Id UnauthenticatedPeers::add(const std::string &address, std::function<void()> evict) {
    const auto own = std::ranges::count(m_all, address, &One::address);
    if (static_cast<std::size_t>(own) >= mostOfOneAddress)
        evictOldestOf(address);
    else if (m_all.size() >= most)
        evictOldestOf(busiestAddress());
    m_all.push_back({++m_last, address, std::move(evict)});
    return m_last;
}

void UnauthenticatedPeers::remove(Id id) {
    m_all.remove_if([id](const One &one) { return one.id == id; });
}

void UnauthenticatedPeers::evictOldestOf(const std::string &address) {
    const auto oldest = std::ranges::find(m_all, address, &One::address);
    const auto evict = std::move(oldest->evict);
    m_all.erase(oldest);
    evict();
}

std::optional<std::string> LimitedRefusals::next(const std::string &message) {
    constexpr int most = 50;
    if (m_count >= most)
        return std::nullopt;
    return ++m_count < most ? message : message + "; further ones are not reported";
}

std::string UnauthenticatedPeers::busiestAddress() const {
    std::map<std::string, int> counts;
    for (const One &one : m_all)
        ++counts[one.address];
    return std::ranges::max_element(counts, {}, [](const auto &count) { return count.second; })->first;
}

} // namespace lockstep::agent
