// SPDX-License-Identifier: MIT
#include "trainer/engine/stop_flag.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

#include <unistd.h>

namespace lockstep::trainer::stop_flag {

namespace {

constexpr int stoppedExit = 130;
constexpr std::int64_t sameWishNs = 1'000'000'000;
std::atomic<bool> wanted{false}, inTraining{false};
std::atomic<std::int64_t> firstSignalNs{0};
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free); // for a handler

void onSignal(int) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t nowNs = now.tv_sec * 1'000'000'000 + now.tv_nsec;
    std::int64_t first = 0;
    const bool again = !firstSignalNs.compare_exchange_strong(first, nowNs) && nowNs - first >= sameWishNs;
    if (!inTraining.load() || again)
        ::_exit(stoppedExit);
    wanted = true;
}

} // namespace

void install() {
    struct sigaction action {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART; // a signal must not fail a collective
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

void training() {
    inTraining = true;
}
void request() {
    wanted = true;
}
bool requested() {
    return wanted.load(std::memory_order_relaxed);
}

} // namespace lockstep::trainer::stop_flag
