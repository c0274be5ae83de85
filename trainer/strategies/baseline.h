// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <utility>

#include "trainer/strategies/local_passes.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// One device, no communication.
class Baseline final : public Strategy {
public:
    /// `parts`: of each batch, computed one after another.
    Baseline(std::shared_ptr<Model> model, PhaseClock &clock, int parts = 1)
        : m_clock(clock), m_passes(std::move(model), clock, parts) {}
    StepOutcome step(const Batch &batch, bool wantStop) override;

private:
    PhaseClock &m_clock;
    LocalPasses m_passes;
};

} // namespace lockstep::trainer
