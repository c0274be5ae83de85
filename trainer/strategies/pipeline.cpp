// SPDX-License-Identifier: MIT
#include "trainer/strategies/pipeline.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <stdexcept>
#include <utility>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "trainer/strategies/flat_tensors.h"
#include "trainer/strategies/layer_costs.h"
#include "trainer/strategies/stage_costs.h"

namespace lockstep::trainer {

namespace {

constexpr int forwardTag = 1'000, backwardTag = 1'000'000; // plus the number of the micro-batch

std::vector<torch::Tensor> tensorsOf(const NamedTensors &named) {
    std::vector<torch::Tensor> tensors;
    for (const auto &[name, tensor] : named)
        tensors.push_back(tensor);
    return tensors;
}

} // namespace

Pipeline::Pipeline(std::shared_ptr<Model> model, Communicator &communicator, PhaseClock &clock, const Options &options)
    : m_model(std::move(model)), m_communicator(communicator), m_clock(clock), m_stages(options.stages),
      m_stage(communicator.rank() % options.stages), m_microBatches(options.microBatches), m_schedule(options.schedule),
      m_oneNode(options.oneNode), m_texts(options.sample.values == Values::Text) {
    const auto parameters = m_model->parameters();
    c10d::verify_params_across_processes(communicator.group(), parameters, {});
    communicator.broadcast(parameters);
    shareOutLayers(options);
    if (communicator.worldSize() > m_stages)
        m_replicas.emplace(communicator, m_stages, m_oneNode);
}

void Pipeline::shareOutLayers(const Options &options) {
    const torch::Tensor input =
        exampleInput(options.sample, std::max<std::int64_t>(1, options.batch / options.microBatches),
                     options.mostTokens, m_model->parameters().front().options().requires_grad(false));
    if (options.layersPerStage.empty()) {
        m_begins = cutLayers(m_schedule, static_cast<std::size_t>(m_microBatches),
                             measuredCosts(*m_model, m_communicator, m_stages, input, m_oneNode));
    } else {
        m_begins = {0};
        for (const int layers : options.layersPerStage)
            m_begins.push_back(m_begins.back() + static_cast<std::size_t>(layers));
    }
    const torch::Tensor one = input.narrow(0, 0, 1);
    openChannels(m_texts ? std::vector{one, one.narrow(1, 0, one.size(1) - 1)} : std::vector{one});
}

/// `samples`: one, or of texts two, the second of which is shorter by a token.
void Pipeline::openChannels(const std::vector<torch::Tensor> &samples) {
    const c10::AutoGradMode noGrad(false);
    const auto own = static_cast<std::size_t>(m_stage);
    std::vector<torch::Tensor> before, after;
    m_model->eval(); // draws nothing
    for (const torch::Tensor &sample : samples) {
        before.push_back(m_model->forwardThrough(0, m_begins[own], sample));
        after.push_back(m_model->forwardThrough(m_begins[own], m_begins[own + 1], before.back()));
    }
    m_model->train();
    const auto following = static_cast<std::size_t>(m_stages - m_stage - 1);
    m_slots = static_cast<std::size_t>(m_microBatches);
    if (m_schedule != "gpipe")
        m_slots = std::min(m_slots, 2 * following + 2); // one more than are kept: it arrives while the stage computes
    const int rank = m_communicator.rank();
    const auto open = [&](int peer, int tag, const std::vector<torch::Tensor> &like) {
        return std::make_unique<StageChannel>(m_communicator.group(), peer, tag, like,
                                              m_texts ? samples.front().size(1) : 0, m_slots);
    };
    if (!isFirst()) {
        m_fromBefore = open(rank - 1, forwardTag, before);
        m_toBefore = open(rank - 1, backwardTag, before);
    }
    if (!isLast()) {
        m_toNext = open(rank + 1, forwardTag, after);
        m_fromNext = open(rank + 1, backwardTag, after);
    }
}

StepOutcome Pipeline::step(const Batch &batch, bool wantStop) {
    m_wantStop = wantStop;
    m_stop = false;
    m_loss = 0;
    m_computeNs = m_idleNs = 0;
    m_beginNs = monotonicNs(); // unless the stage before says when the first one began
    cut(batch);
    for (const StageAction &action : stageActions(m_schedule, static_cast<std::size_t>(m_stage),
                                                  static_cast<std::size_t>(m_stages), m_micro.size()))
        if (action.kind == StageAction::Forward)
            forward(action.microBatch, batch);
        else
            backward(action.microBatch);
    for (const auto &channel : {m_toNext.get(), m_toBefore.get()})
        if (channel)
            channel->finish();
    m_clock.lap(Phase::Exposed);
    if (m_replicas)
        averageGradients();
    ++m_steps;
    if (m_oneNode)
        m_timeline.endStep(m_beginNs);
    return {at::scalar_tensor(m_loss, at::kDouble), m_stop};
}

/// The micro-batches of a batch, as equal as can be; the first of them are already on their way.
void Pipeline::cut(const Batch &batch) {
    const std::int64_t samples = batch.targets.size(0);
    m_length = m_texts ? batch.inputs.size(1) : 0;
    const std::int64_t count = std::min(m_microBatches, samples);
    m_micro.clear();
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t first = samples * i / count;
        m_micro.push_back({first, samples * (i + 1) / count - first, {}, {}});
    }
    for (std::size_t i = 0; i < std::min(m_slots, m_micro.size()); ++i)
        expect(i);
}

/// The messages of a micro-batch, from both sides.
void Pipeline::expect(std::size_t number) {
    for (const auto &channel : {m_fromBefore.get(), m_fromNext.get()})
        if (channel)
            channel->expect(number, m_micro[number].samples, m_length);
}

void Pipeline::forward(std::size_t number, const Batch &batch) {
    Micro &micro = m_micro[number];
    if (isFirst()) {
        micro.input = batch.inputs.narrow(0, micro.first, micro.samples);
    } else {
        StageMessage &message = await(*m_fromBefore, number);
        m_wantStop = message.header().wantStop != 0 || m_wantStop;
        m_beginNs = message.header().beginNs;
        micro.input = message.content().detach().requires_grad_();
        if (m_texts)
            m_model->prepareFor(batch.inputs.narrow(0, micro.first, micro.samples));
    }
    const std::int64_t startNs = monotonicNs();
    const auto own = static_cast<std::size_t>(m_stage);
    micro.output = m_model->forwardThrough(m_begins[own], m_begins[own + 1], micro.input);
    if (isLast())
        micro.output = lossOf(micro, batch);
    computed(Phase::Forward, number, startNs);
    if (!isLast())
        send(*m_toNext, number, micro.output.detach(), m_wantStop);
}

void Pipeline::computed(Phase phase, std::size_t number, std::int64_t startNs) {
    const std::int64_t endNs = m_clock.lap(phase);
    m_computeNs += endNs - startNs;
    if (m_oneNode)
        m_timeline.add(phase, number, startNs, endNs);
}

/// The micro-batch's part of the mean over the batch; its part of the loss that is reported goes into m_loss.
torch::Tensor Pipeline::lossOf(const Micro &micro, const Batch &batch) {
    const torch::Tensor targets = batch.targets.narrow(0, micro.first, micro.samples);
    const torch::Tensor loss = crossEntropy(micro.output, targets);
    const std::int64_t real = std::clamp<std::int64_t>(batch.real - micro.first, 0, micro.samples);
    const Batch part{.inputs = {}, .targets = targets, .real = real};
    if (real > 0)
        m_loss += reportedLoss(loss, micro.output, part).item<double>() * static_cast<double>(real) /
                  static_cast<double>(batch.real);
    return loss * (static_cast<double>(micro.samples) / static_cast<double>(batch.targets.size(0)));
}

void Pipeline::backward(std::size_t number) {
    Micro &micro = m_micro[number];
    torch::Tensor gradient;
    if (isLast()) {
        m_stop = m_wantStop;
    } else {
        StageMessage &message = await(*m_fromNext, number);
        m_stop = message.header().wantStop != 0;
        m_loss = message.header().loss;
        gradient = message.content();
    }
    const std::int64_t startNs = monotonicNs();
    if (micro.output.requires_grad()) // else it is a first stage without parameters
        micro.output.backward(gradient);
    computed(Phase::Backward, number, startNs);
    if (!isFirst())
        send(*m_toBefore, number, micro.input.grad(), m_stop);
    micro.input = micro.output = torch::Tensor(); // their slot is free for another micro-batch
    if (const std::size_t later = number + m_slots; later < m_micro.size())
        expect(later);
}

void Pipeline::averageGradients() {
    const StageReplicas::Outcome outcome = m_replicas->average(tensorsOf(parametersOf(m_stage)), m_stop);
    m_stop = outcome.stop;
    m_clock.add(Phase::Comm, outcome.tookNs);
    if (m_oneNode)
        m_clock.add(Phase::Wait, outcome.waitNs);
    m_clock.lap(Phase::Exposed);
}

/// Of all stages' gradients; each pipeline has them once.
torch::Tensor Pipeline::gradientNorm(const Optimizer &optimizer) {
    const torch::Tensor own = optimizer.gradientNorm();
    const double length = own.item<double>();
    const std::int64_t startNs = m_clock.lap(Phase::Optimizer);
    std::vector<double> shared(
        1 + static_cast<std::size_t>(m_communicator.worldSize())); // squares, and when each rank was ready
    shared.front() = length * length;
    shared[1 + static_cast<std::size_t>(m_communicator.rank())] = static_cast<double>(startNs);
    shared = m_communicator.sum(std::move(shared));
    const std::int64_t tookNs = m_clock.lap(Phase::Exposed) - startNs;
    m_clock.add(Phase::Comm, tookNs);
    if (m_oneNode)
        m_clock.add(Phase::Wait,
                    std::clamp(static_cast<std::int64_t>(std::ranges::max(shared | std::views::drop(1))) - startNs,
                               std::int64_t{0}, tookNs));
    m_idleNs += tookNs;
    return at::scalar_tensor(std::sqrt(shared.front() * m_stages / m_communicator.worldSize()), own.options());
}

std::vector<StepMetric> Pipeline::measured() const {
    return {{"bubble",
             static_cast<double>(m_idleNs) / static_cast<double>(std::max<std::int64_t>(1, m_idleNs + m_computeNs))}};
}

/// Waits for a message. The time until it was sent is waiting for the other stage, the rest its way.
StageMessage &Pipeline::await(StageChannel &channel, std::size_t number) {
    const std::int64_t startNs = monotonicNs();
    StageMessage &message = channel.receive(number);
    const std::int64_t tookNs = monotonicNs() - startNs;
    m_clock.lap(Phase::Exposed);
    m_idleNs += tookNs;
    m_clock.add(Phase::Comm, tookNs);
    if (m_oneNode)
        m_clock.add(Phase::Wait, std::clamp(message.header().sentNs - startNs, std::int64_t{0}, tookNs));
    return message;
}

void Pipeline::send(StageChannel &channel, std::size_t number, const torch::Tensor &content, bool wantStop) {
    StageMessage &message = channel.next(number, m_micro[number].samples, m_length);
    if (content.sizes() != message.content().sizes())
        throw std::runtime_error(
            "a layer's output does not grow evenly with the length of its texts, so pipeline can't pass it on; use "
            "the method ddp");
    message.content().copy_(content);
    message.header().wantStop = wantStop ? 1 : 0;
    message.header().beginNs = m_beginNs;
    message.header().loss = m_loss;
    channel.send(number);
    m_clock.lap(Phase::Exposed); // the copy into the message
}

std::optional<CommFrame> Pipeline::takeComm() {
    if (m_steps == 0)
        return {};
    CommFrame frame;
    frame.lastStep = std::exchange(m_steps, 0) - 1;
    m_timeline.moveTo(frame);
    return frame;
}

std::vector<std::size_t> Pipeline::stageLayers() const {
    std::vector<std::size_t> layers;
    for (std::size_t stage = 1; stage < m_begins.size(); ++stage)
        layers.push_back(m_begins[stage] - m_begins[stage - 1]);
    return layers;
}

int Pipeline::stageOf(const std::string &parameter) const {
    const std::size_t layer = m_model->layerOf(parameter);
    return static_cast<int>(std::upper_bound(m_begins.begin(), m_begins.end() - 1, layer) - m_begins.begin()) - 1;
}

NamedTensors Pipeline::parametersOf(int stage) const {
    NamedTensors named;
    for (const auto &item : m_model->named_parameters())
        if (stageOf(item.key()) == stage)
            named.emplace_back(item.key(), item.value());
    return named;
}

bool Pipeline::finishEpoch(Optimizer &, bool stopped) {
    const c10::AutoGradMode noGrad(false);
    for (int stage = 0; stage < m_stages; ++stage) {
        const auto parameters = tensorsOf(parametersOf(stage));
        if (parameters.empty())
            continue;
        const torch::Tensor flat = flattened(parameters);
        m_communicator.broadcastFrom(stage, flat);
        copyFlat(flat, parameters);
    }
    for (const auto &item : m_model->named_buffers()) // such as BatchNorm's running means
        m_communicator.broadcastFrom(stageOf(item.key()), item.value());
    m_clock.lap(Phase::Exposed);
    return stopped;
}

NamedTensors Pipeline::optimizerState(const Optimizer &optimizer) {
    NamedTensors state;
    const double ownTensors = static_cast<double>(optimizer.state().size()); // of a stage without parameters always 0
    if (m_communicator.sum({ownTensors}).front() == 0)
        return state;
    for (int stage = 0; stage < m_stages; ++stage) {
        const NamedTensors named = parametersOf(stage);
        const auto parameters = tensorsOf(named);
        if (parameters.empty())
            continue;
        for (const auto &[key, own] : optimizer.stateTensors()) {
            const std::vector<torch::Tensor> like =
                key == Optimizer::countKey ? std::vector<torch::Tensor>(parameters.size(), at::zeros({}, at::kFloat))
                                           : parameters;
            const torch::Tensor flat = stage == m_stage ? flattened(own) : at::empty_like(flattened(like));
            m_communicator.broadcastFrom(stage, flat);
            const auto parts = unflattened(flat, like);
            for (std::size_t i = 0; i < parts.size(); ++i)
                state.emplace_back(Optimizer::stateName(named[i].first, key), parts[i]);
        }
    }
    return state;
}

} // namespace lockstep::trainer
