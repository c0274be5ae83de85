// SPDX-License-Identifier: MIT
#include "trainer/strategies/giving_way.h"

#include <thread>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

void GivingWay::now() {
    constexpr std::int64_t leastLossNs = 1'000'000, lossesApart = 20; // times the loss
    const std::int64_t startNs = monotonicNs();
    if (startNs < m_notBeforeNs)
        return;
    const std::int64_t handled = *m_handled;
    std::this_thread::yield();
    const std::int64_t endNs = monotonicNs();
    if (endNs - startNs >= leastLossNs && *m_handled == handled)
        m_notBeforeNs = endNs + lossesApart * (endNs - startNs);
}

} // namespace lockstep::trainer
