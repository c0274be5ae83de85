// SPDX-License-Identifier: MIT
#include "trainer/strategies/graphed.h"

#include <ATen/Functions.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "trainer/data/device_batches.h"
#include "trainer/engine/optimizer.h"

namespace lockstep::trainer {

namespace {

void leaveDefaultStream(c10::Device device) {
    if (device.is_cpu())
        return;
    const c10::impl::VirtualGuardImpl guard(device.type());
    guard.synchronizeDevice(device.index()); // parameters were made in the default one
    guard.exchangeStream(guard.getStreamFromGlobalPool(device));
}

} // namespace

StepWay wayOf(std::int64_t samples, std::int64_t real, std::int64_t fullBatch, std::int64_t eagerSteps, bool recorded) {
    if (samples != fullBatch || real != samples)
        return StepWay::Eager;
    if (recorded)
        return StepWay::Launch;
    return eagerSteps < eagerStepsBeforeGraph ? StepWay::Eager : StepWay::Record;
}

Graphed::Graphed(std::shared_ptr<Model> model, PhaseClock &clock, std::unique_ptr<StepGraphs> graphs,
                 std::int64_t fullBatch)
    : m_model(std::move(model)), m_clock(clock), m_graphs(std::move(graphs)), m_fullBatch(fullBatch),
      m_eager(m_model, clock) {
    leaveDefaultStream(m_model->parameters().front().device());
}

StepWay Graphed::wayOf(const Batch &batch) const {
    return trainer::wayOf(batch.targets.size(0), batch.real, m_fullBatch, m_eagerSteps, m_recorded);
}

/// One copy and one launch: makes the batch at the address that the other graphs read.
void Graphed::makeOnDevice(Batch &batch) {
    const StepWay way =
        trainer::wayOf(batch.maker->samplesOf(batch.terms), batch.real, m_fullBatch, m_eagerSteps, m_recorded);
    if (way == StepWay::Eager)
        return Strategy::makeOnDevice(batch);
    if (!m_terms.defined())
        m_terms =
            at::empty(batch.terms.sizes(), batch.terms.options().device(batch.maker->device()).pinned_memory(false));
    m_terms.copy_(batch.terms, /*non_blocking=*/true);
    if (way == StepWay::Record)
        m_graphs->record(StepGraphs::Input, [this, maker = batch.maker] {
            Batch made;
            maker->makeOf(m_terms, made);
            m_inputs = made.inputs;
            m_targets = made.targets;
        });
    m_graphs->launch(StepGraphs::Input);
    batch.inputs = m_inputs;
    batch.targets = m_targets;
}

/// Copies straight from the host to the address that the graphs read.
void Graphed::bring(Batch &batch, c10::Device device, bool nonBlocking) {
    if (wayOf(batch) == StepWay::Eager || batch.inputs.device() == device)
        return Strategy::bring(batch, device, nonBlocking);
    if (!m_inputs.defined()) {
        m_inputs = at::empty(batch.inputs.sizes(), batch.inputs.options().device(device));
        m_targets = at::empty(batch.targets.sizes(), batch.targets.options().device(device));
    }
    takeInput(batch, nonBlocking);
    batch.inputs = m_inputs;
    batch.targets = m_targets;
}

void Graphed::takeInput(const Batch &batch, bool nonBlocking) {
    m_inputs.copy_(batch.inputs, nonBlocking);
    m_targets.copy_(batch.targets, nonBlocking);
}

StepOutcome Graphed::step(const Batch &batch, bool wantStop) {
    m_way = wayOf(batch);
    if (m_way == StepWay::Eager) {
        m_eagerSteps += batch.targets.size(0) == m_fullBatch ? 1 : 0;
        return m_eager.step(batch, wantStop);
    }
    if (!m_inputs.defined()) { // not staged: it was on the device already
        m_inputs = at::empty_like(batch.inputs);
        m_targets = at::empty_like(batch.targets);
    }
    if (!batch.inputs.is_same(m_inputs))
        takeInput(batch, true);
    if (m_way == StepWay::Record)
        m_graphs->record(StepGraphs::Forward, [this] { m_loss = crossEntropy(m_model->forward(m_inputs), m_targets); });
    m_graphs->launch(StepGraphs::Forward);
    StepOutcome outcome{m_loss.detach().clone(), wantStop}; // the next launch writes over it
    m_clock.lap(Phase::Forward);
    if (m_way == StepWay::Record)
        m_graphs->record(StepGraphs::Backward, [this] { m_loss.backward(); });
    m_graphs->launch(StepGraphs::Backward);
    const std::vector<torch::Tensor> parameters = m_model->parameters();
    for (std::size_t i = 0; i < m_gradients.size(); ++i) // a graph writes them where it did when it was recorded
        if (!parameters[i].grad().defined())
            parameters[i].mutable_grad() = m_gradients[i];
    m_loss = m_loss.detach(); // its autograd graph is no longer needed; the address stays
    m_clock.lap(Phase::Backward);
    return outcome;
}

void Graphed::runOptimizer(Optimizer &optimizer) {
    if (m_way == StepWay::Eager)
        return Strategy::runOptimizer(optimizer);
    if (m_way == StepWay::Record) {
        m_graphs->record(StepGraphs::Optimize, [&optimizer] { optimizer.step(); });
        for (const torch::Tensor &parameter : m_model->parameters())
            m_gradients.push_back(parameter.grad());
        m_recorded = true;
    }
    m_graphs->launch(StepGraphs::Optimize);
    optimizer.clearGradients(); // an eager step (of the last batch) makes its own gradients
}

} // namespace lockstep::trainer
