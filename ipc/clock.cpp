// SPDX-License-Identifier: MIT
#include "ipc/clock.h"

#include <ctime>

namespace lockstep {

namespace {
std::int64_t nanoseconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
} // namespace

std::int64_t SystemClock::monoNs() const {
    return nanoseconds(CLOCK_MONOTONIC);
}
std::int64_t SystemClock::wallUs() const {
    return nanoseconds(CLOCK_REALTIME) / 1000;
}

} // namespace lockstep
