// SPDX-License-Identifier: MIT
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "ipc/port_holder.h"
#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/net/net_talk.h"
#include "trainer/agent/net/secrets.h"

namespace lockstep::agent {

namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

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

void serveOne(Fd connection, const std::string &token) {
    const int fd = connection.get();
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setSocketPatience(fd, 8s);
    const auto greeting = readNetLine(fd);
    if (!greeting || !greeting->starts_with(netGreeting) ||
        !sameSecret(token, std::string_view(*greeting).substr(netGreeting.size())) || !writeAll(fd, "HELLO\n"))
        return;
    while (const auto line = readNetLine(fd)) {
        if (*line == "SEND")
            return takeBulk(fd);
        if (*line != "PING" || !writeAll(fd, "PONG\n"))
            return;
    }
}

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
void serve(const std::vector<Listener> &listeners, const std::string &token) {
    constexpr std::size_t mostConnections = 256;
    std::vector<pollfd> waits = {{STDIN_FILENO, POLLIN, 0}};
    for (const Listener &listener : listeners)
        waits.push_back({listener.fd.get(), POLLIN, 0});
    std::vector<std::jthread> connections;
    const auto end = std::chrono::steady_clock::now() + 10min;
    while (std::chrono::steady_clock::now() < end && connections.size() < mostConnections) {
        if (::poll(waits.data(), waits.size(), 1000) <= 0)
            continue;
        if (waits[0].revents != 0) {
            char byte = 0;
            if (::read(STDIN_FILENO, &byte, 1) <= 0)
                break;
        }
        for (std::size_t i = 1; i < waits.size(); ++i) {
            if ((waits[i].revents & POLLIN) == 0)
                continue;
            Fd connection(::accept4(waits[i].fd, nullptr, nullptr, SOCK_CLOEXEC));
            if (connection.valid())
                connections.emplace_back(
                    [connection = std::move(connection), token]() mutable { serveOne(std::move(connection), token); });
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
    serve(listeners, token);
    std::fflush(stdout);
    ::_exit(0); // nobody needs the connections that are still open
}

} // namespace lockstep::agent
