// SPDX-License-Identifier: MIT
#include "trainer/engine/straggler_watch.h"

#include "ipc/logging.h"
#include "trainer/engine/process_facts.h"

namespace lockstep::trainer {

StragglerWatch::StragglerWatch(Session &session) : m_session(session), m_detector(session.communicator->worldSize()) {}

void StragglerWatch::addStep(std::int64_t step) {
    const auto verdict = m_detector.add(step, m_session.strategy->ownTimes());
    if (!verdict || verdict->rank != m_session.env.rank)
        return;
    if (verdict->over)
        return logInfo(slownessInWords(*verdict, hostName()));
    const AlertFrame alert = stragglerAlert(*verdict, hostName(), "steps");
    m_session.frames->send(alert);
    logWarning(alert.message);
}

} // namespace lockstep::trainer
