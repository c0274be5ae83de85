// SPDX-License-Identifier: MIT
// Gloo's event thread leaves a connection alone while the training thread holds its lock, and asks epoll again at once, which names that
// connection again (Pair::handleEvents of its TCP transport). Where both have one core, the training thread can't give the lock back until
// the kernel takes the core from the event thread at its next tick: a message of microseconds takes up to 4 ms. So Gloo finds this
// epoll_wait before libc's (CMakeLists.txt of trainer/engine links it in).
#include <sched.h>
#include <sys/epoll.h>

#include <chrono>
#include <cstdint>

namespace lockstep::trainer {
namespace {

/// Notices when a thread gets the same event again and again, sooner than it could have handled it.
class SpinWatch {
public:
    [[nodiscard]] bool spins(const epoll_event &event) {
        if (event.data.u64 != m_event) {
            m_event = event.data.u64;
            m_times = 0;
            return false;
        }
        const auto now = std::chrono::steady_clock::now();
        if (m_times++ == 0)
            m_since = now;
        if (m_times <= enough)
            return false;
        m_times = 0;
        return now - m_since < enough * handling;
    }
    void forget() { m_event = 0; }

private:
    static constexpr int enough = 4;
    static constexpr auto handling = std::chrono::microseconds(3); ///< a read from a socket and a wake-up take longer
    std::uint64_t m_event = 0;                                     ///< Gloo's: a pointer
    int m_times = 0;
    std::chrono::steady_clock::time_point m_since;
};

} // namespace
} // namespace lockstep::trainer

extern "C" [[gnu::visibility("default")]] int epoll_wait(int epoll, epoll_event *events, int most, int timeoutMs) {
    thread_local lockstep::trainer::SpinWatch watch;
    const int count = ::epoll_pwait(epoll, events, most, timeoutMs, nullptr);
    if (count < 1)
        watch.forget();
    else if (watch.spins(events[0]))
        ::sched_yield();
    return count;
}
