// SPDX-License-Identifier: MIT
#include "trainer/report/training_position.h"

namespace lockstep::trainer {

namespace {

constexpr auto relaxed = std::memory_order_relaxed; // a heartbeat that is a step behind does no harm

/// The phase that follows in a step of any method; finer phases inside it are not shown.
Phase after(Phase phase) {
    switch (phase) {
    case Phase::Load:
    case Phase::H2d:
        return Phase::Forward;
    case Phase::Forward:
        return Phase::Backward;
    case Phase::Backward:
        return Phase::Exposed;
    case Phase::Exposed:
        return Phase::Optimizer;
    case Phase::Optimizer:
        return Phase::Other;
    default:
        return Phase::Load;
    }
}

} // namespace

void TrainingPosition::beginStep(std::int64_t step) {
    m_step.store(step, relaxed);
    m_phase.store(static_cast<std::int64_t>(Phase::Load), relaxed);
    m_phaseNs.store(monotonicNs(), relaxed);
}

void TrainingPosition::ended(Phase phase) {
    // DDP shares buffers before forward, which is then still to come.
    const bool beforeForward =
        phase == Phase::Exposed && m_phase.load(relaxed) == static_cast<std::int64_t>(Phase::Forward);
    m_phase.store(static_cast<std::int64_t>(beforeForward ? Phase::Forward : after(phase)), relaxed);
    m_phaseNs.store(monotonicNs(), relaxed);
}

void TrainingPosition::enterCollective() {
    if (m_entered.fetch_add(1, relaxed) == m_left.load(relaxed))
        m_waitNs.store(monotonicNs(), relaxed);
}

void TrainingPosition::leaveCollective() {
    m_left.fetch_add(1, relaxed);
    m_waitNs.store(monotonicNs(), relaxed); // the next one, if there is one, is the oldest from now on
}

RankPosition TrainingPosition::position() const {
    RankPosition out;
    const std::int64_t now = monotonicNs(), entered = m_entered.load(relaxed), left = m_left.load(relaxed);
    if (const std::int64_t step = m_step.load(relaxed); step != none) {
        out.step = step;
        out.phase = nameOf(static_cast<Phase>(m_phase.load(relaxed)));
        out.sinceS = static_cast<double>(now - m_phaseNs.load(relaxed)) * 1e-9;
    }
    if (entered == 0)
        return out;
    out.collectives = entered;
    out.collectivesEnded = left;
    if (entered > left)
        out.waitS = static_cast<double>(now - m_waitNs.load(relaxed)) * 1e-9;
    return out;
}

} // namespace lockstep::trainer
