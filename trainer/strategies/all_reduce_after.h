// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <vector>

#include "trainer/comm/communicator.h"
#include "trainer/report/phase_clock.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// DDP without overlap: backward to its end, then one all-reduce of all gradients and of the wish to stop.
class AllReduceAfter final : public Strategy {
public:
    /// Gives all ranks rank 0's parameters and buffers.
    AllReduceAfter(std::shared_ptr<Model> model, Communicator &communicator, PhaseClock &clock);

    StepOutcome step(const Batch &batch, bool wantStop) override;

private:
    void broadcast(const std::vector<torch::Tensor> &tensors);
    [[nodiscard]] bool averageGradients(bool wantStop);

    std::shared_ptr<Model> m_model;
    Communicator &m_communicator;
    PhaseClock &m_clock;
    std::vector<torch::Tensor> m_parameters;
};

} // namespace lockstep::trainer
