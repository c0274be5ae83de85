// SPDX-License-Identifier: MIT
#include "trainer/strategies/baseline.h"

namespace lockstep::trainer {

StepOutcome Baseline::step(const Batch &batch, bool wantStop) {
    const torch::Tensor logits = m_model->forward(batch.inputs);
    const torch::Tensor loss = crossEntropy(logits, batch.targets);
    StepOutcome outcome{reportedLoss(loss, logits, batch), wantStop};
    m_clock.lap(Phase::Forward);
    loss.backward();
    m_clock.lap(Phase::Backward);
    return outcome;
}

} // namespace lockstep::trainer
