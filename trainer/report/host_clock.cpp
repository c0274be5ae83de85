// SPDX-License-Identifier: MIT
#include "trainer/report/host_clock.h"

#include <utility>

namespace lockstep::trainer {

std::int64_t HostClock::start() {
    m_own = {};
    return m_last = monotonicNs();
}

std::int64_t HostClock::lap(Phase phase, std::optional<Phase> nested) {
    const std::int64_t now = monotonicNs();
    m_step.add(phase, now - m_last);
    m_own.add(phase, now - m_last);
    if (nested)
        m_step.add(*nested, now - m_last);
    if (m_trace && m_trace->on()) {
        m_trace->span(Trace::training, nameOf(phase).data(), m_last, now);
        if (nested)
            m_trace->span(Trace::training, nameOf(*nested).data(), m_last, now);
    }
    m_last = now;
    if (m_position)
        m_position->ended(phase);
    return now;
}

void HostClock::add(Phase phase, std::int64_t ns) {
    m_step.add(phase, ns);
}

void HostClock::endStep() {
    m_done.push_back(std::exchange(m_step, {}));
}

std::optional<StepTimes> HostClock::takeStep(bool) {
    if (m_done.empty())
        return {};
    StepTimes step = m_done.front();
    m_done.pop_front();
    return step;
}

StepTimes HostClock::takeTail() {
    return std::exchange(m_step, {});
}

std::optional<StepTimes> HostClock::takeOwn() {
    return std::exchange(m_own, {});
}

} // namespace lockstep::trainer
