// SPDX-License-Identifier: MIT
#pragma once
// What `net listen` and `net connect` say to each other over TCP, lines of ASCII:
//   →  LOCKSTEP-NET TOKEN      ←  HELLO              (a wrong token: closed without a word)
//   →  PING                    ←  PONG               as often as the round trip is measured
//   →  SEND, then bytes, then the end of the stream  ←  GOT BYTES NANOSECONDS (from the first byte to the last)
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

inline constexpr std::string_view netGreeting = "LOCKSTEP-NET ";
inline constexpr std::size_t netBlockBytes = 256 * 1024;

/// A numeric address and port as the socket functions take it.
struct NetAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    [[nodiscard]] const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&storage); }
};
/// Names are refused unless `resolve`: what is measured must be what was named.
[[nodiscard]] Result<NetAddress> netAddress(const std::string &address, int port, bool resolve = false);
/// "192.0.2.7"; empty when it can't be told.
[[nodiscard]] std::string numericAddress(const sockaddr *address, socklen_t length);
/// "192.0.2.7:29500", "[2001:db8::7]:29500"; empty when it can't be told.
[[nodiscard]] std::string addressAndPort(const sockaddr_storage &address, socklen_t length);
[[nodiscard]] int portOf(int fd); ///< that a socket is bound to; 0 when unknown

/// Sets how long a read or write of the socket may take.
void setSocketPatience(int fd, std::chrono::milliseconds patience);
[[nodiscard]] bool writeAll(int fd, std::string_view text);
/// One line without its newline; nothing at the end, after the patience or when it is longer.
[[nodiscard]] std::optional<std::string> readNetLine(int fd, std::size_t longest = 200);
/// The next line of stdin, byte by byte, so that nothing behind it is taken.
[[nodiscard]] std::string readStdinLine();

} // namespace lockstep::agent
