#include "trainer/engine/stop_flag.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace lockstep::trainer::stop_flag {

namespace {

constexpr int stoppedExit = 130;
std::atomic<bool> wanted{false}, inTraining{false};
static_assert(std::atomic<bool>::is_always_lock_free); // or a signal handler may not touch it

void onSignal(int) {
    if (!inTraining.load() || wanted.exchange(true))
        ::_exit(stoppedExit);
}

} // namespace

void install() {
    struct sigaction action {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART; // a signal is no error in the middle of a collective
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
