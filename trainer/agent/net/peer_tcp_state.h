// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::agent {

/// The kernel's TCP state (tcp_info) of connections between this node and another one.
struct PeerTcpState {
    int connections = 0; ///< established
    int unanswered = 0;  ///< those with sent bytes that are not acknowledged yet
    std::optional<std::chrono::milliseconds>
        lastHeard; ///< since anything arrived on any of them; absent without connections
};
/// All established TCP connections of this network namespace to a remote address ("10.0.0.2", "fe80::1"). Sends
/// nothing.
[[nodiscard]] PeerTcpState readPeerTcpState(const std::string &address);
/// Of the one connection whose socket is `fd`; without connections when `fd` is no connected TCP socket.
[[nodiscard]] PeerTcpState readTcpState(int fd);

enum class PeerVerdict {
    Unknown, ///< no connection, or none with unacknowledged bytes
    Alive,   ///< the peer's kernel answers: the machine and the way to it work
    Gone,    ///< bytes stay unacknowledged: the machine is off or cut off
};
[[nodiscard]] PeerVerdict judge(const PeerTcpState &state);

/// The address in "10.0.0.2:51234" or "[fe80::1]:51234".
[[nodiscard]] std::string addressOfPeer(std::string_view peer);

} // namespace lockstep::agent
