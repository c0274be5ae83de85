// SPDX-License-Identifier: MIT
#include "trainer/agent/net/net_talk.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace lockstep::agent {

namespace {

/// Waits until `fd` can be read. False if `endFd` could be first, or neither could by `until`.
bool waitToRead(int fd, int endFd, std::chrono::steady_clock::time_point until) {
    using std::chrono::milliseconds;
    pollfd both[] = {{fd, POLLIN, 0}, {endFd, POLLIN, 0}};
    int ready = 0;
    do {
        const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
        constexpr milliseconds longestPoll = std::chrono::hours(1);
        ready = ::poll(both, 2, static_cast<int>(std::clamp(left, milliseconds(0), longestPoll).count()));
    } while ((ready < 0 && errno == EINTR) || (ready == 0 && std::chrono::steady_clock::now() < until));
    return ready > 0 && both[1].revents == 0;
}

} // namespace

Result<NetAddress> netAddress(const std::string &address, int port, bool resolve) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = resolve ? 0 : AI_NUMERICHOST;
    addrinfo *found = nullptr;
    const int rc = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (rc != 0)
        return fail(Error::badArgument("'" + address.substr(0, 100) + "' is no address (" + ::gai_strerror(rc) + ")",
                                       "give a numeric address"));
    const std::unique_ptr<addrinfo, void (*)(addrinfo *)> list(found, ::freeaddrinfo);
    NetAddress out;
    std::memcpy(&out.storage, list->ai_addr, list->ai_addrlen);
    out.length = list->ai_addrlen;
    return out;
}

std::string numericAddress(const sockaddr *address, socklen_t length) {
    char host[NI_MAXHOST] = {};
    return ::getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0 ? host : "";
}

std::string addressAndPort(const sockaddr_storage &address, socklen_t length) {
    char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
    if (::getnameinfo(reinterpret_cast<const sockaddr *>(&address), length, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return {};
    const std::string name = host;
    return (name.find(':') == std::string::npos ? name : "[" + name + "]") + ":" + port;
}

int portOf(int fd) {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    if (::getsockname(fd, reinterpret_cast<sockaddr *>(&bound), &length) != 0)
        return 0;
    return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(bound).sin6_port
                                             : reinterpret_cast<sockaddr_in &>(bound).sin_port);
}

void setSocketPatience(int fd, std::chrono::milliseconds patience) {
    timeval limit{};
    limit.tv_sec = patience.count() / 1000;
    limit.tv_usec = patience.count() % 1000 * 1000;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool writeAll(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return false;
        text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

std::optional<std::string> readNetLine(int fd, std::chrono::steady_clock::time_point until, std::size_t longest,
                                       int endFd) {
    std::string line;
    while (line.size() < longest && std::chrono::steady_clock::now() < until) {
        char c = 0;
        const ssize_t size = ::recv(fd, &c, 1, MSG_DONTWAIT);
        if (size < 0 && (errno == EINTR || (errno == EAGAIN && waitToRead(fd, endFd, until))))
            continue;
        if (size <= 0)
            return std::nullopt;
        if (c == '\n')
            return line;
        line += c;
    }
    return std::nullopt;
}

std::string readStdinLine() {
    std::string line;
    char c = 0;
    while (line.size() < 64 * 1024) {
        const ssize_t size = ::read(STDIN_FILENO, &c, 1);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0 || c == '\n')
            break;
        line += c;
    }
    return line;
}

} // namespace lockstep::agent
