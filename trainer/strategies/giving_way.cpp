// SPDX-License-Identifier: MIT
#include "trainer/strategies/giving_way.h"

#include <ctime>
#include <thread>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

namespace {

constexpr std::int64_t lossesApart = 20; ///< times the loss

std::int64_t processCpuNs() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

} // namespace

void GivingWay::now() {
    const std::int64_t startNs = monotonicNs();
    if (startNs < m_notBeforeNs)
        return;
    const std::int64_t cpuNs = processCpuNs();
    std::this_thread::yield();
    const std::int64_t endNs = monotonicNs();
    const std::int64_t lostNs = endNs - startNs - (processCpuNs() - cpuNs);
    if (lostNs > 0)
        m_notBeforeNs = endNs + lossesApart * lostNs;
}

} // namespace lockstep::trainer
