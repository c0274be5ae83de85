// SPDX-License-Identifier: MIT
#include "tests/agent/follow_client.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace lockstep;

FollowClient::FollowClient(const std::string &socketPath, std::uint64_t fromSeq, bool ownsQueue) {
    Hello hello;
    hello.nextSeq = fromSeq;
    hello.ownsQueue = ownsQueue;
    greet(socketPath, hello);
}

FollowClient::FollowClient(const std::string &socketPath, AllNodes) {
    Hello hello;
    hello.nextSeqs.emplace();
    greet(socketPath, hello);
}

void FollowClient::greet(const std::string &socketPath, Hello hello) {
    auto fd = connectUnix(socketPath, false);
    REQUIRE(fd);
    m_fd = std::move(*fd);
    hello.role = "follower";
    hello.pid = ::getpid();
    hello.name = "a test";
    send(encode(hello));
    char byte = 0;
    std::string line;
    while (::recv(m_fd.get(), &byte, 1, 0) == 1 && byte != '\n')
        line += byte;
    const auto answer = decodeHello(line);
    REQUIRE(answer);
    m_agent = *answer;
}

void FollowClient::send(const std::string &line) {
    sendRaw(line + "\n");
}

void FollowClient::sendRaw(const std::string &bytes) {
    (void)::send(m_fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

std::string FollowClient::readToEnd(std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    char bytes[65536];
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd poll{m_fd.get(), POLLIN, 0};
        if (left.count() <= 0 || ::poll(&poll, 1, static_cast<int>(left.count())) <= 0)
            return m_buffer;
        const ssize_t n = ::recv(m_fd.get(), bytes, sizeof bytes, 0);
        if (n <= 0) {
            m_closed = true;
            return m_buffer;
        }
        m_buffer.append(bytes, static_cast<std::size_t>(n));
    }
}

std::string logFrom(const std::string &contents, std::uint64_t seq) {
    std::size_t at = 0;
    for (std::uint64_t line = 0; line < seq && at < contents.size(); ++line)
        at = contents.find('\n', at) + 1;
    return contents.substr(at);
}
