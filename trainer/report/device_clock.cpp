// SPDX-License-Identifier: MIT
#include "trainer/report/device_clock.h"

#include <utility>

#include <c10/core/impl/VirtualGuardImpl.h>

namespace lockstep::trainer {

std::shared_ptr<c10::Event> DeviceClock::record() {
    std::shared_ptr<c10::Event> event;
    if (m_spare.empty()) {
        event = std::make_shared<c10::Event>(m_device.type(), c10::EventFlag::BACKEND_DEFAULT);
    } else {
        event = std::move(m_spare.back());
        m_spare.pop_back();
    }
    event->record(c10::impl::VirtualGuardImpl(m_device.type()).getStream(m_device));
    return event;
}

std::int64_t DeviceClock::start() {
    m_last = record();
    m_step = {};
    return m_streamNs = monotonicNs();
}

std::int64_t DeviceClock::lap(Phase phase, std::optional<Phase> nested) {
    m_step.marks.push_back({phase, nested, record(), m_trace && m_trace->on()});
    if (m_position)
        m_position->ended(phase); // for the host: the GPU may be behind
    return monotonicNs();
}

void DeviceClock::add(Phase phase, std::int64_t ns) {
    m_step.extra.add(phase, ns);
}

void DeviceClock::endStep() {
    m_done.push_back(std::exchange(m_step, {}));
}

std::shared_ptr<c10::Event> DeviceClock::point() {
    return m_step.points.emplace_back(record());
}

void DeviceClock::whenKnown(std::function<void(StepTimes &, const When &)> use) {
    m_step.uses.push_back(std::move(use));
}

StepTimes DeviceClock::resolve(Step step) {
    StepTimes times = step.extra;
    for (const auto &use : step.uses)
        use(times, [this](const c10::Event &point) {
            return m_streamNs + static_cast<std::int64_t>(m_last->elapsedTime(point) * 1e6);
        });
    step.uses.clear(); // releases the last references to the points
    m_spare.insert(m_spare.end(), step.points.begin(), step.points.end());
    for (const Mark &mark : step.marks) {
        const auto ns = static_cast<std::int64_t>(m_last->elapsedTime(*mark.event) * 1e6);
        times.add(mark.phase, ns);
        if (mark.nested)
            times.add(*mark.nested, ns);
        if (mark.traced) {
            m_trace->span(Trace::stream, nameOf(mark.phase).data(), m_streamNs, m_streamNs + ns);
            if (mark.nested)
                m_trace->span(Trace::stream, nameOf(*mark.nested).data(), m_streamNs, m_streamNs + ns);
        }
        m_streamNs += ns;
        m_spare.push_back(std::exchange(m_last, mark.event));
    }
    return times;
}

std::optional<StepTimes> DeviceClock::takeStep(bool wait) {
    if (m_done.empty())
        return {};
    const Step &oldest = m_done.front();
    if (!oldest.marks.empty()) {
        const c10::Event &last = *oldest.marks.back().event;
        if (!wait && !last.query())
            return {};
        last.synchronize();
    }
    Step known = std::move(m_done.front());
    m_done.pop_front();
    return resolve(std::move(known));
}

StepTimes DeviceClock::takeTail() {
    Step tail = std::exchange(m_step, {});
    if (!tail.marks.empty())
        tail.marks.back().event->synchronize();
    return resolve(std::move(tail));
}

} // namespace lockstep::trainer
