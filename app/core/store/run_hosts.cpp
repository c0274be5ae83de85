// SPDX-License-Identifier: MIT
#include "store/run_hosts.h"

#include <utility>

#include "ipc/placement.h"

namespace lockstep::core {

RunHosts::RunHosts(std::initializer_list<std::string> hosts) {
    for (const std::string &host : hosts)
        add(host);
}

bool RunHosts::add(std::string host) {
    if (m_hosts.size() >= std::size_t(mostNodes))
        return false;
    m_names.insert(host);
    m_hosts.push_back(std::move(host));
    return true;
}

bool RunHosts::addNew(const std::string &host) {
    return m_names.contains(host) || add(host);
}

} // namespace lockstep::core
