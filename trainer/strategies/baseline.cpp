// SPDX-License-Identifier: MIT
#include "trainer/strategies/baseline.h"

namespace lockstep::trainer {

StepOutcome Baseline::step(const Batch &batch, bool wantStop) {
    const LocalPasses::Loss loss = m_passes.untilLastBackward(batch);
    loss.toRun.backward();
    m_clock.lap(Phase::Backward);
    return {loss.reported, wantStop};
}

} // namespace lockstep::trainer
