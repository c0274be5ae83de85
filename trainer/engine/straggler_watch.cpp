// SPDX-License-Identifier: MIT
#include "trainer/engine/straggler_watch.h"

#include <cstdio>

#include "ipc/alerts.h"
#include "ipc/logging.h"
#include "trainer/engine/process_facts.h"

namespace lockstep::trainer {

StragglerWatch::StragglerWatch(Session &session) : m_session(session), m_detector(session.communicator->worldSize()) {}

void StragglerWatch::addStep(std::int64_t step) {
    const auto verdict = m_detector.add(step, m_session.strategy->ownTimes());
    if (!verdict || verdict->rank != m_session.env.rank)
        return;
    const std::string who = "rank " + std::to_string(verdict->rank) + " on " + hostName(),
                      where(nameOf(verdict->phase));
    if (verdict->over)
        return logInfo(who + " is no longer slower than the others in " + where);
    char later[32];
    std::snprintf(later, sizeof later, "%.3g", verdict->readyLaterNs * 1e-6);
    const AlertFrame alert = makeAlert("straggler",
                                       who + " is slower than the others in " + where + ": its gradients are ready " +
                                           later + " ms later (median of " + std::to_string(StragglerDetector::window) +
                                           " steps), so the other ranks wait",
                                       verdict->step);
    m_session.frames->send(alert);
    logWarning(alert.message);
}

} // namespace lockstep::trainer
