// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "ipc/unix_socket.h"

namespace lockstep::agent {

inline constexpr std::chrono::milliseconds oneSecond{1000};

/// The event loop of the agent's main thread: epoll for descriptors, a queue for timers. Not thread safe. Handlers may
/// watch, unwatch and cancel anything, themselves included. A handler that was unwatched during a batch of events is
/// not called again in that batch.
class EventLoop {
public:
    using Token = std::uint64_t;
    using Milliseconds = std::chrono::milliseconds;

    EventLoop();

    /// Calls `handler` with epoll's event bits, level-triggered. A token is never 0.
    Token watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> handler);
    void change(Token token, std::uint32_t events);
    void unwatch(Token &token); ///< sets it to 0; 0 is ignored

    Token after(Milliseconds delay, std::function<void()> handler);
    Token every(Milliseconds interval, std::function<void()> handler);
    void cancel(Token &token); ///< sets it to 0; 0 is ignored

    /// Runs once after each batch of events, before the loop sleeps.
    void afterBatch(std::function<void()> handler) { m_afterBatch = std::move(handler); }

    void run(); ///< until quit()
    void quit() { m_quit = true; }

private:
    struct Watch {
        int fd;
        std::function<void(std::uint32_t)> handler;
    };
    struct Timer {
        std::chrono::nanoseconds interval; ///< 0: once
        std::function<void()> handler;
    };
    using Due = std::pair<std::int64_t, Token>; ///< CLOCK_MONOTONIC ns

    Token addTimer(Milliseconds delay, Milliseconds interval, std::function<void()> handler);
    int millisecondsToNextTimer() const;
    void runDueTimers();

    Fd m_epoll;
    Token m_lastToken = 0;
    std::unordered_map<Token, std::shared_ptr<Watch>> m_watches;
    std::unordered_map<Token, std::shared_ptr<Timer>> m_timers;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> m_due;
    std::function<void()> m_afterBatch;
    bool m_quit = false;
};

} // namespace lockstep::agent
