// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace lockstep::core {

/// The machines of a run by name, at most mostNodes (ipc/placement.h), in the order in which they came. Whether one is there
/// takes no look at each of the others.
class RunHosts {
public:
    RunHosts() = default;
    RunHosts(std::initializer_list<std::string> hosts);
    /// One more machine; two of a record may have one name. False: there are as many as a run may have.
    bool add(std::string host);
    /// The same, unless its name is there already.
    bool addNew(const std::string &host);
    [[nodiscard]] const std::vector<std::string> &list() const { return m_hosts; }
    [[nodiscard]] bool empty() const { return m_hosts.empty(); }

private:
    std::vector<std::string> m_hosts;
    std::set<std::string, std::less<>> m_names; ///< those of m_hosts
};

} // namespace lockstep::core
