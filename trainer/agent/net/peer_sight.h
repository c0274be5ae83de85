// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::agent {

/// What the connections from this node to another one tell of it, as the kernel has them (tcp_info): those of the ranks here with
/// the ranks there, whoever runs them.
struct PeerSight {
    int connections = 0; ///< established
    int unanswered = 0;  ///< with bytes under way that nobody has acknowledged
    std::optional<std::chrono::milliseconds>
        lastHeard; ///< since anything came by any of them; absent without connections
};
/// All established TCP connections of this network namespace with a remote address ("10.0.0.2", "fe80::1"). Nothing is sent.
[[nodiscard]] PeerSight lookAtPeer(const std::string &address);

enum class PeerVerdict {
    Unknown, ///< no connection, or none on which something is waited for
    Alive,   ///< its kernel answers: the machine is there, and the way to it
    Gone,    ///< what was sent is not answered any more: the machine is off, or cut off
};
[[nodiscard]] PeerVerdict judge(const PeerSight &sight);

/// The address of "10.0.0.2:51234" or "[fe80::1]:51234".
[[nodiscard]] std::string addressOfPeer(std::string_view peer);

} // namespace lockstep::agent
