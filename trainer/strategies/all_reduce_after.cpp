// SPDX-License-Identifier: MIT
#include "trainer/strategies/all_reduce_after.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

namespace lockstep::trainer {

AllReduceAfter::AllReduceAfter(std::shared_ptr<Model> model, Communicator &communicator, PhaseClock &clock)
    : m_model(std::move(model)), m_communicator(communicator), m_clock(clock), m_parameters(m_model->parameters()) {
    broadcast(m_parameters);
    broadcast(m_model->buffers());
}

void AllReduceAfter::broadcast(const std::vector<torch::Tensor> &tensors) {
    const c10::AutoGradMode noGrad(false);
    for (const torch::Tensor &tensor : tensors) {
        std::vector<at::Tensor> whole{tensor.detach()};
        m_communicator.group()->broadcast(whole)->wait();
    }
}

StepOutcome AllReduceAfter::step(const Batch &batch, bool wantStop) {
    const torch::Tensor logits = m_model->forward(batch.inputs);
    const torch::Tensor loss = crossEntropy(logits, batch.targets);
    StepOutcome outcome{reportedLoss(loss, logits, batch), false};
    m_clock.lap(Phase::Forward);
    loss.backward();
    m_clock.lap(Phase::Backward);
    const std::int64_t startNs = monotonicNs();
    outcome.stop = averageGradients(wantStop);
    m_clock.add(Phase::Comm, monotonicNs() - startNs);
    m_clock.lap(Phase::Exposed);
    return outcome;
}

bool AllReduceAfter::averageGradients(bool wantStop) {
    const c10::AutoGradMode noGrad(false);
    std::vector<torch::Tensor> pieces;
    for (const torch::Tensor &parameter : m_parameters)
        pieces.push_back(parameter.grad().reshape({-1}));
    pieces.push_back(at::full({1}, wantStop ? 1 : 0, pieces.front().options()));
    std::vector<at::Tensor> all{at::cat(pieces).div_(m_communicator.worldSize())};
    m_communicator.group()->allreduce(all)->wait();
    std::int64_t offset = 0;
    for (const torch::Tensor &parameter : m_parameters) {
        parameter.grad().copy_(all.front().narrow(0, offset, parameter.numel()).view(parameter.sizes()));
        offset += parameter.numel();
    }
    return all.front()[offset].item<double>() > 0;
}

} // namespace lockstep::trainer
