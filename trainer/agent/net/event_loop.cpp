// SPDX-License-Identifier: MIT
#include "trainer/agent/net/event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "ipc/clock.h"

namespace lockstep::agent {

namespace {
std::int64_t now() {
    return SystemClock().monoNs();
}
} // namespace

EventLoop::EventLoop() : m_epoll(epoll_create1(EPOLL_CLOEXEC)) {}

EventLoop::Token EventLoop::watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> handler) {
    const Token token = ++m_lastToken;
    epoll_event event{};
    event.events = events;
    event.data.u64 = token;
    if (epoll_ctl(m_epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        return 0;
    m_watches[token] = std::make_shared<Watch>(Watch{fd, std::move(handler)});
    return token;
}

void EventLoop::change(Token token, std::uint32_t events) {
    const auto found = m_watches.find(token);
    if (found == m_watches.end())
        return;
    epoll_event event{};
    event.events = events;
    event.data.u64 = token;
    epoll_ctl(m_epoll.get(), EPOLL_CTL_MOD, found->second->fd, &event);
}

void EventLoop::unwatch(Token &token) {
    const auto found = m_watches.find(token);
    if (found != m_watches.end()) {
        epoll_ctl(m_epoll.get(), EPOLL_CTL_DEL, found->second->fd, nullptr);
        m_watches.erase(found);
    }
    token = 0;
}

EventLoop::Token EventLoop::addTimer(Milliseconds delay, Milliseconds interval, std::function<void()> handler) {
    const Token token = ++m_lastToken;
    m_timers[token] = std::make_shared<Timer>(Timer{interval, std::move(handler)});
    m_due.emplace(now() + std::chrono::nanoseconds(delay).count(), token);
    return token;
}

EventLoop::Token EventLoop::after(Milliseconds delay, std::function<void()> handler) {
    return addTimer(delay, Milliseconds(0), std::move(handler));
}

EventLoop::Token EventLoop::every(Milliseconds interval, std::function<void()> handler) {
    return addTimer(interval, interval, std::move(handler));
}

void EventLoop::cancel(Token &token) {
    m_timers.erase(token);
    token = 0;
}

int EventLoop::millisecondsToNextTimer() const {
    if (m_due.empty())
        return -1;
    const std::int64_t left = m_due.top().first - now();
    return static_cast<int>(std::clamp<std::int64_t>((left + 999'999) / 1'000'000, 0, 60'000));
}

void EventLoop::runDueTimers() {
    const std::int64_t at = now();
    while (!m_due.empty() && m_due.top().first <= at && !m_quit) {
        const auto [due, token] = m_due.top();
        m_due.pop();
        const auto found = m_timers.find(token);
        if (found == m_timers.end())
            continue;
        const std::shared_ptr<Timer> timer = found->second; // keeps the timer alive if its handler cancels it
        if (timer->interval.count() == 0)
            m_timers.erase(found);
        else // a late loop skips beats; it does not catch up in a burst
            m_due.emplace(std::max(due + timer->interval.count(), at + timer->interval.count() / 2), token);
        timer->handler();
    }
}

void EventLoop::run() {
    std::array<epoll_event, 64> events;
    m_quit = false;
    while (!m_quit) {
        const int n = epoll_wait(m_epoll.get(), events.data(), events.size(), millisecondsToNextTimer());
        const bool broken = n < 0 && errno != EINTR; // read errno now: handlers change it
        for (int i = 0; i < n && !m_quit; ++i) {
            const auto &event = events[static_cast<std::size_t>(i)];
            const auto found = m_watches.find(event.data.u64);
            if (found == m_watches.end())
                continue; // an earlier handler of this batch unwatched it
            const std::shared_ptr<Watch> watch = found->second;
            watch->handler(event.events);
        }
        if (!m_quit)
            runDueTimers();
        if (m_afterBatch && !m_quit)
            m_afterBatch();
        if (broken)
            return;
    }
}

} // namespace lockstep::agent
