// SPDX-License-Identifier: MIT
#include "trainer/engine/process_facts.h"

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ipc/process_stat.h"

namespace lockstep::trainer {

std::optional<double> secondsSinceLaunch() {
    const auto stat = processStatOf("/proc/self");
    timespec now{};
    if (!stat || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return {};
    const double sinceBoot = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
    return sinceBoot - static_cast<double>(stat->startTicks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<double> peakRssBytes() {
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) != 0)
        return {};
    return static_cast<double>(usage.ru_maxrss) * 1024;
}

void useBatchScheduling() {
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_BATCH, &none);
}

void keepFreedMemory() {
    constexpr int mostBytes = 512 << 20;
    ::malloc_trim(0);
    ::mallopt(M_MMAP_THRESHOLD, mostBytes);
    ::mallopt(M_TRIM_THRESHOLD, mostBytes);
}

std::string schedulingPolicy() {
    switch (::sched_getscheduler(0)) {
    case SCHED_OTHER:
        return "other";
    case SCHED_BATCH:
        return "batch";
    case SCHED_IDLE:
        return "idle";
    case SCHED_FIFO:
        return "fifo";
    case SCHED_RR:
        return "rr";
    default:
        return {};
    }
}

} // namespace lockstep::trainer
