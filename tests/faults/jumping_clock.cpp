// SPDX-License-Identifier: MIT
// For programs that are started with LD_PRELOAD=libjumping_clock.so: their wall clock is off by as many nanoseconds as the file
// JUMPING_CLOCK says (eight bytes, as the machine has them), and jumps when that number is written anew. Clocks that only count
// from some start are left alone, as the kernel leaves them when somebody sets the time.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "tests/preloaded.h"

using namespace lockstep::preloaded;

namespace {

constexpr std::int64_t second = 1'000'000'000;

const std::atomic<std::int64_t> *offset() {
    static const std::atomic<std::int64_t> *const given = [] {
        const char *path = ::getenv("JUMPING_CLOCK");
        const int file = path ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file < 0)
            return static_cast<const std::atomic<std::int64_t> *>(nullptr);
        void *shared = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
        ::close(file);
        return shared == MAP_FAILED ? nullptr : static_cast<const std::atomic<std::int64_t> *>(shared);
    }();
    return given;
}

void shift(timespec &time) {
    if (!offset())
        return;
    const std::int64_t ns = time.tv_sec * second + time.tv_nsec + *offset();
    time.tv_sec = ns / second;
    time.tv_nsec = ns % second;
}

} // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec *time) noexcept {
    static const auto real = next<int(clockid_t, timespec *)>("clock_gettime");
    const int code = real(clock, time);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        shift(*time);
    return code;
}

int gettimeofday(timeval *time, void *) noexcept {
    timespec now{};
    const int code = ::clock_gettime(CLOCK_REALTIME, &now);
    *time = {now.tv_sec, now.tv_nsec / 1000};
    return code;
}

time_t time(time_t *to) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

} // extern "C"
