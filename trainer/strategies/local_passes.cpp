// SPDX-License-Identifier: MIT
#include "trainer/strategies/local_passes.h"

#include <algorithm>
#include <utility>

namespace lockstep::trainer {

namespace {

/// `samples` of the batch, from `first` on.
Batch partOf(const Batch &batch, std::int64_t first, std::int64_t samples) {
    if (samples == batch.targets.size(0))
        return batch;
    Batch part;
    part.inputs = batch.inputs.narrow(0, first, samples);
    part.targets = batch.targets.narrow(0, first, samples);
    part.real = std::clamp<std::int64_t>(batch.real - first, 0, samples);
    return part;
}

} // namespace

LocalPasses::LocalPasses(std::shared_ptr<Model> model, PhaseClock &clock, int parts)
    : m_model(std::move(model)), m_clock(clock), m_parts(parts) {}

LocalPasses::Loss LocalPasses::untilLastBackward(const Batch &batch) {
    const std::int64_t samples = batch.targets.size(0), parts = std::min(m_parts, samples);
    torch::Tensor reported;
    for (std::int64_t i = 0;; ++i) {
        const std::int64_t first = samples * i / parts, own = samples * (i + 1) / parts - first;
        const Batch part = partOf(batch, first, own);
        const torch::Tensor logits = m_model->forward(part.inputs);
        torch::Tensor loss = crossEntropy(logits, part.targets);
        const torch::Tensor ofPart = reportedLoss(loss, logits, part);
        if (parts == 1)
            reported = ofPart;
        else if (part.real > 0 || !reported.defined()) {
            const double share =
                static_cast<double>(part.real) / static_cast<double>(std::max<std::int64_t>(1, batch.real));
            reported = reported.defined() ? reported + ofPart * share : ofPart * share;
        }
        if (const double share = batch.weight * static_cast<double>(own) / static_cast<double>(samples); share != 1)
            loss = loss * share;
        m_clock.lap(Phase::Forward);
        if (i + 1 == parts)
            return {loss, reported};
        loss.backward();
        m_clock.lap(Phase::Backward);
    }
}

} // namespace lockstep::trainer
