// SPDX-License-Identifier: MIT
#pragma once
// The protocol of `net listen` (left) and `net connect` (right) over TCP, in lines of ASCII:
//   →  LOCKSTEP-NET TOKEN      ←  HELLO              (a wrong token: closed without an answer)
//   →  PING                    ←  PONG               as often as the round trip is measured
//   →  SEND, then bytes, then the end of the stream  ←  GOT BYTES NANOSECONDS (from the first byte to the last)
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/error.h"
#include "ipc/resolve.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

inline constexpr std::string_view netGreeting = "LOCKSTEP-NET ";
inline constexpr std::size_t netBlockBytes = 256 * 1024;

/// Resolves no host names unless `resolve`: the address that is measured must be the one that was given.
[[nodiscard]] Result<NetAddress> netAddress(const std::string &address, int port, bool resolve = false);
/// "192.0.2.7"; empty when it cannot be determined.
[[nodiscard]] std::string numericAddress(const sockaddr *address, socklen_t length);
/// "192.0.2.7:29500" or "[2001:db8::7]:29500"; empty when it cannot be determined.
[[nodiscard]] std::string addressAndPort(const sockaddr_storage &address, socklen_t length);
[[nodiscard]] int portOf(int fd); ///< the local port of a socket; 0 when unknown

/// Sets the time-out of reads and writes of a socket.
void setSocketPatience(int fd, std::chrono::milliseconds patience);
[[nodiscard]] bool writeAll(int fd, std::string_view text);
/// One line without its newline; absent at the end of the stream, when the line is longer, when it is not whole by `until`, even if
/// its bytes keep coming, or once `endFd` can be read while it is waited for.
[[nodiscard]] std::optional<std::string> readNetLine(int fd, std::chrono::steady_clock::time_point until,
                                                     std::size_t longest = 200, int endFd = -1);
/// The next line of stdin. Reads byte by byte, so that what follows stays unread.
[[nodiscard]] std::string readStdinLine();

} // namespace lockstep::agent
