// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>

namespace lockstep::agent {

/// Connections that have not authenticated yet. Their number is bounded, in all and for each address, so that they can take neither
/// memory nor descriptors from those that have. When there is no room, the oldest of the address that has most is closed: a peer of
/// this run authenticates within a moment, and one that holds connections open in silence loses them first.
class UnauthenticatedPeers {
public:
    static constexpr std::size_t most = 256, mostOfOneAddress = 64;
    using Id = std::uint64_t;

    /// `evict` closes the connection; it is called by a later add(), or never. It must not call remove().
    Id add(const std::string &address, std::function<void()> evict);
    void remove(Id id); ///< it has gone, or has authenticated
    [[nodiscard]] std::size_t count() const { return m_all.size(); }

private:
    struct One {
        Id id;
        std::string address;
        std::function<void()> evict;
    };
    void evictOldestOf(const std::string &address);
    [[nodiscard]] std::string busiestAddress() const;
    std::list<One> m_all; ///< oldest first
    Id m_last = 0;
};

/// Refused connections, or lines, of which only the first few are reported: anybody may send any number, which must not fill a log.
class LimitedRefusals {
public:
    /// The note on this refusal; absent: enough were reported.
    [[nodiscard]] std::optional<std::string> next(const std::string &message);

private:
    int m_count = 0;
};

} // namespace lockstep::agent
