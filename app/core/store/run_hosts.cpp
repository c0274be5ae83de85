// SPDX-License-Identifier: MIT
#include "store/run_hosts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "ipc/placement.h"

namespace lockstep::core {
namespace {

std::size_t hashOf(std::string_view host) {
    return std::hash<std::string_view>()(host);
}

} // namespace

RunHosts::RunHosts(std::initializer_list<std::string> hosts) {
    for (const std::string &host : hosts)
        add(host);
}

bool RunHosts::isBefore(const Key &key, std::size_t hash, std::string_view host) const {
    return key.hash != hash ? key.hash < hash : m_hosts[key.place] < host;
}

/// Where it is, or belongs.
std::vector<RunHosts::Key>::const_iterator RunHosts::find(std::size_t hash, std::string_view host) const {
    return std::partition_point(m_keys.begin(), m_keys.end(),
                                [&](const Key &key) { return isBefore(key, hash, host); });
}

bool RunHosts::add(std::string host) {
    if (m_hosts.size() >= std::size_t(mostNodes))
        return false;
    const std::size_t hash = hashOf(host);
    const auto found = find(hash, host);
    if (found == m_keys.end() || m_hosts[found->place] != host)
        m_keys.insert(found, Key{hash, m_hosts.size()});
    m_hosts.push_back(std::move(host));
    return true;
}

bool RunHosts::addNew(const std::string &host) {
    const auto found = find(hashOf(host), host);
    return (found != m_keys.end() && m_hosts[found->place] == host) || add(host);
}

bool RunHosts::sharesOne(const RunHosts &other) const {
    auto own = m_keys.begin(), its = other.m_keys.begin();
    while (own != m_keys.end() && its != other.m_keys.end())
        if (isBefore(*own, its->hash, other.m_hosts[its->place]))
            ++own;
        else if (other.isBefore(*its, own->hash, m_hosts[own->place]))
            ++its;
        else
            return true;
    return false;
}

} // namespace lockstep::core
