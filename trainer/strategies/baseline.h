// SPDX-License-Identifier: MIT
#pragma once
#include "trainer/report/phase_clock.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// One device, no communication.
class Baseline final : public Strategy {
public:
    Baseline(std::shared_ptr<Model> model, PhaseClock &clock) : m_model(std::move(model)), m_clock(clock) {}
    StepOutcome step(const Batch &batch, bool wantStop) override;

private:
    std::shared_ptr<Model> m_model;
    PhaseClock &m_clock;
};

} // namespace lockstep::trainer
