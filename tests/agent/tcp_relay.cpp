// SPDX-License-Identifier: MIT
#include "tests/agent/tcp_relay.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

using lockstep::Fd;

namespace {
sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

/// False when that end is gone.
bool pass(int from, int to, std::string &carried) {
    char bytes[65536];
    const ssize_t n = ::recv(from, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0)
        return false;
    carried.append(bytes, static_cast<std::size_t>(n));
    for (ssize_t sent = 0; sent < n;) {
        const ssize_t m = ::send(to, bytes + sent, static_cast<std::size_t>(n - sent), MSG_NOSIGNAL);
        if (m <= 0)
            return false;
        sent += m;
    }
    return true;
}
} // namespace

TcpRelay::TcpRelay(const std::string &target) : m_targetPort(std::stoi(target.substr(target.rfind(':') + 1))) {
    bind();
    m_thread = std::thread([this] { run(); });
}

TcpRelay::~TcpRelay() {
    m_stop = true;
    m_thread.join();
}

std::string TcpRelay::address() const {
    return "127.0.0.1:" + std::to_string(m_port);
}

void TcpRelay::bind() {
    Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int one = 1;
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_in address = loopback(m_port);
    socklen_t length = sizeof address;
    REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), length) == 0);
    REQUIRE(::listen(listener.get(), 16) == 0);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &length);
    m_port = ntohs(address.sin_port);
    m_listener = std::move(listener);
}

void TcpRelay::cut() {
    const std::lock_guard lock(m_mutex);
    m_listener.close();
    m_pairs.clear();
}

void TcpRelay::restore() {
    const std::lock_guard lock(m_mutex);
    bind();
}

std::string TcpRelay::carried() {
    const std::lock_guard lock(m_mutex);
    return m_carried;
}

void TcpRelay::run() {
    while (!m_stop) {
        std::vector<pollfd> fds;
        {
            const std::lock_guard lock(m_mutex);
            fds.push_back({m_listener.get(), POLLIN, 0});
            for (const Pair &pair : m_pairs) {
                fds.push_back({pair.near.get(), POLLIN, 0});
                fds.push_back({pair.far.get(), POLLIN, 0});
            }
        }
        if (m_frozen || ::poll(fds.data(), fds.size(), 5) <= 0) {
            ::usleep(2000);
            continue;
        }
        const std::lock_guard lock(m_mutex);
        m_pairs.remove_if([this](const Pair &pair) {
            pollfd ends[] = {{pair.near.get(), POLLIN, 0}, {pair.far.get(), POLLIN, 0}};
            if (::poll(ends, 2, 0) <= 0)
                return false;
            return (ends[0].revents && !pass(pair.near.get(), pair.far.get(), m_carried)) ||
                   (ends[1].revents && !pass(pair.far.get(), pair.near.get(), m_carried));
        });
        pollfd waiting{m_listener.get(), POLLIN, 0};
        if (!m_listener.valid() || ::poll(&waiting, 1, 0) <= 0)
            continue;
        Pair pair;
        pair.near = Fd(::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        pair.far = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_in target = loopback(m_targetPort);
        if (::connect(pair.far.get(), reinterpret_cast<const sockaddr *>(&target), sizeof target) == 0)
            m_pairs.push_back(std::move(pair));
    }
}
