// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

namespace lockstep::agent {

/// Room in a run's documents for the names of hosts and devices that ranks report: readers refuse documents that are too large.
/// Not thread safe.
class NameRoom {
public:
    /// Of all names together, as JSON: 200 bytes for each of 2,600 ranks, or 50 for each of 10,000.
    static constexpr std::size_t mostBytes = 512 << 10;

    /// Puts `name`, of which longestReportedName bytes are kept, in place of `kept`. False: there is no room for it, and `kept` is
    /// empty now.
    bool put(std::string &kept, const std::string &name);
    void leave(const std::string &kept); ///< it goes

private:
    std::size_t m_bytes = 0;
};

} // namespace lockstep::agent
