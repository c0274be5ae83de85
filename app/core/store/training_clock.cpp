// SPDX-License-Identifier: MIT
#include "store/training_clock.h"

#include <algorithm>

namespace lockstep::core {

void TrainingClock::onState(std::int64_t monoNs, RunState state) {
    if (!m_begun)
        return;
    if (state == RunState::Training) {
        if (!m_from)
            m_from = monoNs;
    } else if (m_from) {
        m_beforeS += double(std::max<std::int64_t>(0, monoNs - *m_from)) * 1e-9;
        m_from.reset();
    }
}

double TrainingClock::at(std::int64_t monoNs) {
    m_begun = true;
    if (m_from && monoNs < *m_from) { // the clock started anew, so the machine was restarted
        m_from.reset();
        m_beforeS = m_lastS;
    }
    if (!m_from)
        m_from = monoNs;
    return m_lastS = m_beforeS + double(monoNs - *m_from) * 1e-9;
}

} // namespace lockstep::core
