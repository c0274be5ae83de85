// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "ipc/messages.h"
#include "ipc/unix_socket.h"
#include "tests/hang_limit.h"

/// A follower in the test's own process.
class FollowClient {
public:
    struct AllNodes {}; ///< wants every node's log from its first line
    FollowClient(const std::string &socketPath, std::uint64_t fromSeq, bool ownsQueue = false);
    FollowClient(const std::string &socketPath, AllNodes all);
    [[nodiscard]] const lockstep::Hello &agent() const { return m_agent; }
    /// Log lines as they came, newlines included, until the agent closes or the time is over.
    std::string readToEnd(std::chrono::milliseconds patience = lockstep::test::hangLimit);
    void send(const std::string &line);
    /// Sends bytes without a newline.
    void sendRaw(const std::string &bytes);
    [[nodiscard]] bool closedByAgent() const { return m_closed; }

private:
    void greet(const std::string &socketPath, lockstep::Hello hello);
    lockstep::Fd m_fd;
    lockstep::Hello m_agent;
    std::string m_buffer;
    bool m_closed = false;
};

/// The part of a log file from the line with that number on.
[[nodiscard]] std::string logFrom(const std::string &contents, std::uint64_t seq);
