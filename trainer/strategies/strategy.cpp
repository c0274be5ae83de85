// SPDX-License-Identifier: MIT
#include "trainer/strategies/strategy.h"

#include <ATen/Functions.h>

#include "trainer/data/device_batches.h"

namespace lockstep::trainer {

void Strategy::makeOnDevice(Batch &batch) {
    batch.maker->makeOf(batch.terms.to(batch.maker->device(), /*non_blocking=*/true), batch);
}

void Strategy::bring(Batch &batch, c10::Device device, bool nonBlocking) {
    batch.inputs = batch.inputs.to(device, nonBlocking);
    batch.targets = batch.targets.to(device, nonBlocking);
}

NamedTensors Strategy::optimizerState(const Optimizer &optimizer) {
    return optimizer.state();
}

void Strategy::runOptimizer(Optimizer &optimizer) {
    optimizer.step();
    optimizer.clearGradients();
}

torch::Tensor crossEntropy(const torch::Tensor &logits, const torch::Tensor &targets) {
    return at::cross_entropy_loss(logits, targets);
}

torch::Tensor reportedLoss(const torch::Tensor &loss, const torch::Tensor &logits, const Batch &batch) {
    if (batch.real == batch.targets.size(0) || batch.real == 0)
        return loss.detach();
    return crossEntropy(logits.detach().narrow(0, 0, batch.real), batch.targets.narrow(0, 0, batch.real));
}

} // namespace lockstep::trainer
