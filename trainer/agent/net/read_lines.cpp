// SPDX-License-Identifier: MIT
#include "trainer/agent/net/read_lines.h"

#include <array>
#include <cerrno>
#include <sys/socket.h>

namespace lockstep::agent {

ReadLines readLines(int fd, LineFramer &framer, const std::function<void(std::string_view line)> &onLine) {
    std::array<char, 65536> buffer;
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return {};
    if (n <= 0)
        return {ReadLines::Kind::Closed, {}};
    if (const auto fed = framer.feed({buffer.data(), static_cast<std::size_t>(n)}, onLine); !fed)
        return {ReadLines::Kind::Endless, fed.error()};
    return {ReadLines::Kind::Lines, {}};
}

} // namespace lockstep::agent
