// SPDX-License-Identifier: MIT
#include "trainer/agent/session/failure_cause.h"

namespace lockstep::agent {

namespace {
/// What decides which of two failures is the cause.
struct Known {
    bool bySignal = false, peerLost = false;
    std::int64_t monoNs = 0;
};

bool isNearerTheCause(bool bySignal, bool peerLost, std::int64_t nowNs, const Known &known) {
    return (known.peerLost && !peerLost) || (bySignal && !known.bySignal && nowNs - known.monoNs < sameMomentNs);
}
} // namespace

void FailureCause::onReported(const NodeMessage &failed, const std::optional<Supervisor::Failure> &own,
                              std::int64_t nowNs) {
    const bool bySignal = failed.signal.has_value();
    if (own && !isNearerTheCause(bySignal, failed.peerLost, nowNs, {own->bySignal, own->peerLost, own->monoNs}))
        return;
    if (m_reported && !isNearerTheCause(bySignal, failed.peerLost, nowNs,
                                        {m_reported->signal.has_value(), m_reported->peerLost, m_reportedNs}))
        return;
    m_reported = failed;
    m_reportedNs = nowNs;
}

void FailureCause::onOwn(bool bySignal, bool peerLost, std::int64_t nowNs) {
    if (m_reported && isNearerTheCause(bySignal, peerLost, nowNs,
                                       {m_reported->signal.has_value(), m_reported->peerLost, m_reportedNs}))
        m_reported.reset();
}

} // namespace lockstep::agent
