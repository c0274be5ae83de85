// SPDX-License-Identifier: MIT
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "ipc/port_holder.h"
#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/net/net_talk.h"
#include "trainer/agent/net/secrets.h"
#include "trainer/agent/net/unauthenticated_peers.h"

namespace lockstep::agent {

namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds listenPatience = 8s; ///< with who has connected

/// Reads bytes to the end of the stream; answers how many came in which time.
void takeBulk(int fd) {
    std::vector<char> block(netBlockBytes);
    std::uint64_t bytes = 0;
    std::chrono::steady_clock::time_point first, last;
    for (;;) {
        const ssize_t size = ::recv(fd, block.data(), block.size(), 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        last = std::chrono::steady_clock::now();
        if (bytes == 0)
            first = last;
        bytes += static_cast<std::uint64_t>(size);
    }
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(last - first).count();
    (void)writeAll(fd, "GOT " + std::to_string(bytes) + " " + std::to_string(ns) + "\n");
}

bool authenticates(int fd, const std::string &token) {
    constexpr std::size_t mostGreetingBytes = 200;
    const auto greeting = readNetLine(fd, std::chrono::steady_clock::now() + 5s, mostGreetingBytes);
    return greeting && greeting->starts_with(netGreeting) &&
           sameSecret(token, std::string_view(*greeting).substr(netGreeting.size())) && writeAll(fd, "HELLO\n");
}

void answer(int fd) {
    while (const auto line = readNetLine(fd, std::chrono::steady_clock::now() + listenPatience)) {
        if (*line == "SEND")
            return takeBulk(fd);
        if (*line != "PING" || !writeAll(fd, "PONG\n"))
            return;
    }
}

/// The connections that are open, each with a thread of its own.
class Connections {
public:
    explicit Connections(std::string token) : m_token(std::move(token)) {}

    void add(Fd fd, const std::string &from) {
        std::erase_if(m_all, [](const auto &one) { return one->over.load(); });
        if (m_all.size() >= most)
            return;
        const int one = 1;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setSocketPatience(fd.get(), listenPatience);
        One &added = *m_all.emplace_back(std::make_unique<One>());
        added.fd = std::move(fd);
        {
            const std::lock_guard lock(m_mutex);
            added.unauthenticated = m_unauthenticated.add(from, [fd = added.fd.get()] { ::shutdown(fd, SHUT_RDWR); });
        }
        added.thread = std::jthread([this, &added] { serve(added); });
    }

    /// Waits for none of them. The process has to end without destructors next: the threads use these members.
    void abandon() {
        for (const std::unique_ptr<One> &one : m_all)
            one->thread.detach();
    }

private:
    static constexpr std::size_t most = 2 * UnauthenticatedPeers::most;
    struct One {
        Fd fd;
        UnauthenticatedPeers::Id unauthenticated = 0;
        std::atomic<bool> over = false; ///< its thread is about to end
        std::jthread thread;            ///< joined before the members above go
    };

    void serve(One &one) {
        const bool known = authenticates(one.fd.get(), m_token);
        {
            const std::lock_guard lock(m_mutex);
            m_unauthenticated.remove(one.unauthenticated);
        }
        if (known)
            answer(one.fd.get());
        ::shutdown(one.fd.get(), SHUT_RDWR); // the descriptor itself is closed with the next connection
        one.over = true;
    }

    std::string m_token;
    std::mutex m_mutex; ///< guards m_unauthenticated
    UnauthenticatedPeers m_unauthenticated;
    std::list<std::unique_ptr<One>> m_all;
};

struct Listener {
    Fd fd;
    Json said; ///< its part of the announcement
};

Listener listenAt(const std::string &address, int port) {
    Listener out;
    out.said = {{"address", address}, {"port", port}};
    const auto where = netAddress(address, port);
    if (!where) {
        out.said["error"] = where.error().what;
        return out;
    }
    Fd fd(::socket(where->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int one = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (::bind(fd.get(), where->get(), where->length) != 0 || ::listen(fd.get(), 64) != 0) {
        const int error = errno;
        out.said["error"] = std::strerror(error);
        if (error == EADDRINUSE) {
            out.said["in_use"] = true;
            const auto holder = holderOfPort(port);
            out.said["holder"] = holder ? "pid " + holder->words() : "";
        }
        return out;
    }
    out.said["port"] = portOf(fd.get());
    out.fd = std::move(fd);
    return out;
}

/// Serves until stdin ends or the time is up, since the caller may disappear without notice.
void serve(const std::vector<Listener> &listeners, Connections &connections) {
    std::vector<pollfd> waits = {{STDIN_FILENO, POLLIN, 0}};
    for (const Listener &listener : listeners)
        waits.push_back({listener.fd.get(), POLLIN, 0});
    const auto end = std::chrono::steady_clock::now() + 10min;
    while (std::chrono::steady_clock::now() < end) {
        if (::poll(waits.data(), waits.size(), 1000) <= 0)
            continue;
        if (waits[0].revents != 0) {
            char byte = 0;
            if (::read(STDIN_FILENO, &byte, 1) <= 0)
                return;
        }
        for (std::size_t i = 1; i < waits.size(); ++i) {
            if ((waits[i].revents & POLLIN) == 0)
                continue;
            sockaddr_storage from{};
            socklen_t length = sizeof from;
            Fd connection(::accept4(waits[i].fd, reinterpret_cast<sockaddr *>(&from), &length, SOCK_CLOEXEC));
            if (connection.valid())
                connections.add(std::move(connection), numericAddress(reinterpret_cast<sockaddr *>(&from), length));
        }
    }
}

} // namespace

int netListenCommand() {
    std::vector<Listener> listeners;
    std::string token;
    Json said = {{"type", "listening"}, {"sockets", Json::array()}};
    try {
        const Json request = Json::parse(readStdinLine());
        token = request.at("token").get<std::string>();
        for (const auto &address : request.at("addresses")) {
            listeners.push_back(listenAt(address.get<std::string>(), request.value("port", 0)));
            said["sockets"].push_back(listeners.back().said);
        }
    } catch (const std::exception &exception) {
        std::fprintf(stderr, "net listen reads {\"token\":…,\"addresses\":[…],\"port\":…} on stdin: %s\n",
                     exception.what());
        return 2;
    }
    std::printf("%s\n", said.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
    std::erase_if(listeners, [](const Listener &one) { return !one.fd.valid(); });
    Connections connections(std::move(token));
    serve(listeners, connections);
    std::fflush(stdout);
    connections.abandon();
    ::_exit(0); // nobody needs the connections that are still open
}

} // namespace lockstep::agent
