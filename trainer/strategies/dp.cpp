// SPDX-License-Identifier: MIT
#include "trainer/strategies/dp.h"

#include <algorithm>
#include <stdexcept>

#include <ATen/Context.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>

namespace lockstep::trainer {

namespace {

/// Points the parameters at pieces of `flat`, each in its own order in memory, such as NHWC.
void viewInto(const std::vector<torch::Tensor> &parameters, const torch::Tensor &flat) {
    std::int64_t offset = 0;
    for (const torch::Tensor &parameter : parameters) {
        const torch::Tensor piece = flat.narrow(0, offset, parameter.numel());
        parameter.set_data(parameter.is_non_overlapping_and_dense()
                               ? piece.as_strided(parameter.sizes(), parameter.strides())
                               : piece.view(parameter.sizes()));
        offset += parameter.numel();
    }
}

std::int64_t countOf(const std::vector<torch::Tensor> &parameters) {
    std::int64_t count = 0;
    for (const auto &parameter : parameters)
        count += parameter.numel();
    return count;
}

torch::Tensor flatten(const std::vector<torch::Tensor> &parameters) {
    std::vector<torch::Tensor> pieces;
    for (const auto &parameter : parameters)
        pieces.push_back(parameter.is_non_overlapping_and_dense()
                             ? parameter.detach().as_strided({parameter.numel()}, {1})
                             : parameter.detach().reshape({-1}));
    return at::cat(pieces);
}

/// Replicas that share a generator would draw in the order in which their threads happen to run. Each GPU has one, which is enough
/// while one replica computes there. CPU devices share one, so there each replica gets its own.
at::Generator ownGenerator(c10::Device device, bool shared, std::uint64_t seed) {
    if (device.is_cpu())
        return at::detail::createCPUGenerator(seed);
    at::Generator generator = at::globalContext().defaultGenerator(device);
    if (shared)
        generator = generator.clone();
    generator.set_current_seed(seed);
    return generator;
}

} // namespace

std::vector<std::int64_t> scatterSizes(std::int64_t batch, int replicas) {
    const std::int64_t piece = (batch + replicas - 1) / replicas;
    std::vector<std::int64_t> sizes;
    for (std::int64_t first = 0; first < batch; first += piece)
        sizes.push_back(std::min(piece, batch - first));
    return sizes;
}

Dp::Dp(std::shared_ptr<Model> model, PhaseClock &clock, Options options)
    : m_clock(clock), m_trace(options.trace), m_persistent(options.persistent) {
    if (const Result<void> pinned = pinThread(options.devices.front().cores); !pinned)
        throw std::runtime_error(pinned.error().message());
    for (std::size_t i = 0; i < options.devices.size(); ++i)
        addReplica(options.devices[i], i == 0 ? model : options.makeReplica(), options);
    if (options.devices.front().device.is_cpu())
        m_deviceTimes.resize(m_replicas.size());
}

Dp::~Dp() {
    CoreList all;
    for (const Replica &replica : m_replicas)
        all.insert(all.end(), replica.place.cores.begin(), replica.place.cores.end());
    (void)pinThread(all); // it ran on a part of them
}

void Dp::addReplica(const ComputeDevice &place, std::shared_ptr<Model> model, const Options &options) {
    const c10::AutoGradMode noGrad(false);
    Replica replica;
    replica.place = place;
    replica.model = std::move(model);
    replica.model->to(place.device);
    replica.model->train();
    replica.parameters = replica.model->parameters();
    replica.flat = flatten(replica.parameters);
    viewInto(replica.parameters, replica.flat);
    if (!m_replicas.empty()) {
        replica.thread =
            std::make_unique<DeviceThread>("device " + std::to_string(m_replicas.size()), place.cores, place.threads);
        const bool shared = place.device.is_cpu() || std::ranges::any_of(m_replicas, [&](const Replica &other) {
                                return other.place.device == place.device;
                            });
        replica.generator = ownGenerator(place.device, shared, options.seed + m_replicas.size());
        if (shared)
            replica.model->drawFrom(replica.generator);
        if (m_persistent) {
            NamedTensors named;
            for (const auto &item : replica.model->named_parameters())
                named.emplace_back(item.key(), item.value());
            replica.optimizer = std::make_unique<Optimizer>(std::move(named), options.optimizer);
        }
    }
    m_replicas.push_back(std::move(replica));
}

StepOutcome Dp::step(const Batch &batch, bool wantStop) {
    std::fill(m_deviceTimes.begin(), m_deviceTimes.end(), StepTimes());
    scatter(batch.inputs);
    const std::size_t used = m_replicaBatch.size();
    m_clock.lap(Phase::Forward, Phase::Scatter);
    replicate(used);
    m_clock.lap(Phase::Forward, Phase::Replicate);
    inParallel(used, Phase::ParallelForward,
               [](Replica &replica) { replica.output = replica.model->forward(replica.input); });
    m_clock.lap(Phase::Forward, Phase::ParallelForward);
    gather(used);
    m_clock.lap(Phase::Forward, Phase::Gather);
    const torch::Tensor loss = crossEntropy(m_gathered, batch.targets);
    StepOutcome outcome{reportedLoss(loss, m_gathered, batch), wantStop};
    m_clock.lap(Phase::Forward, Phase::LossOnDevice0);
    loss.backward();
    const auto gradients = m_gathered.grad().split_with_sizes(m_replicaBatch);
    for (std::size_t i = 0; i < used; ++i)
        m_replicas[i].input = gradients[i].to(m_replicas[i].place.device, /*non_blocking=*/true);
    inParallel(used, Phase::ParallelBackward, [](Replica &replica) {
        replica.output.backward(replica.input);
        replica.output = torch::Tensor();
        replica.input = torch::Tensor();
    });
    m_clock.lap(Phase::Backward, Phase::ParallelBackward);
    reduce(used);
    m_clock.lap(Phase::Exposed, Phase::Reduce);
    return outcome;
}

void Dp::scatter(const torch::Tensor &inputs) {
    m_replicaBatch = scatterSizes(inputs.size(0), static_cast<int>(m_replicas.size()));
    const auto pieces = inputs.split_with_sizes(m_replicaBatch);
    for (std::size_t i = 0; i < pieces.size(); ++i)
        m_replicas[i].input = pieces[i].to(m_replicas[i].place.device, /*non_blocking=*/true);
}

/// Each step: fresh copies of the parameters, as torch's replicate() makes them. Persistent: copied once.
void Dp::replicate(std::size_t used) {
    if (m_persistent && m_copied)
        return;
    const c10::AutoGradMode noGrad(false);
    const std::size_t count = m_persistent ? m_replicas.size() : used;
    const auto buffers = m_replicas[0].model->buffers();
    for (std::size_t i = 1; i < count; ++i) {
        Replica &replica = m_replicas[i];
        if (!m_persistent) {
            replica.flat = at::empty({countOf(replica.parameters)}, replica.flat.options());
            viewInto(replica.parameters, replica.flat);
        }
        replica.flat.copy_(m_replicas[0].flat, /*non_blocking=*/true);
        const auto own = replica.model->buffers();
        for (std::size_t b = 0; b < own.size(); ++b)
            own[b].copy_(buffers[b], /*non_blocking=*/true);
    }
    m_copied = true;
}

void Dp::gather(std::size_t used) {
    const c10::AutoGradMode noGrad(false);
    std::vector<torch::Tensor> outputs;
    for (std::size_t i = 0; i < used; ++i)
        outputs.push_back(m_replicas[i].output.detach().to(m_replicas[0].place.device, /*non_blocking=*/true));
    m_gathered = at::cat(outputs).requires_grad_(true);
}

void Dp::reduce(std::size_t used) {
    const c10::AutoGradMode noGrad(false);
    std::vector<torch::Tensor> sums;
    for (const auto &parameter : m_replicas[0].parameters)
        sums.push_back(parameter.grad());
    for (std::size_t i = 1; i < used; ++i) {
        std::vector<torch::Tensor> arrived;
        for (const torch::Tensor &parameter : m_replicas[i].parameters) {
            arrived.push_back(parameter.grad().to(m_replicas[0].place.device, /*non_blocking=*/true));
            parameter.mutable_grad() = torch::Tensor();
        }
        at::_foreach_add_(sums, arrived);
    }
}

/// Persistent: the sums, clipped where they are, go back, and each replica runs its own optimizer step.
void Dp::giveGradients() {
    const c10::AutoGradMode noGrad(false);
    m_clock.lap(Phase::Optimizer); // what clipping took
    for (std::size_t i = 1; i < m_replicas.size(); ++i)
        for (std::size_t p = 0; p < m_replicas[i].parameters.size(); ++p)
            m_replicas[i].parameters[p].mutable_grad() =
                m_replicas[0].parameters[p].grad().to(m_replicas[i].place.device, /*non_blocking=*/true);
    m_clock.lap(Phase::Exposed, Phase::Reduce);
}

void Dp::runOptimizer(Optimizer &optimizer) {
    if (m_persistent) {
        giveGradients();
        inParallel(m_replicas.size(), Phase::Optimizer, [&](Replica &replica) {
            if (replica.optimizer)
                replica.optimizer->setLrShare(optimizer.lrShare());
            (replica.optimizer ? *replica.optimizer : optimizer).step();
        });
        for (std::size_t i = 1; i < m_replicas.size(); ++i)
            m_replicas[i].optimizer->clearGradients();
    } else {
        optimizer.step();
    }
    optimizer.clearGradients();
}

void Dp::takeOptimizerState(const Optimizer &optimizer) {
    m_copied = false; // the model's parameters are others now
    for (Replica &replica : m_replicas)
        if (replica.optimizer)
            (void)replica.optimizer->load(optimizer.state());
}

std::vector<at::Generator> Dp::generators() const {
    std::vector<at::Generator> all;
    for (std::size_t i = 1; i < m_replicas.size(); ++i)
        all.push_back(m_replicas[i].generator);
    return all;
}

void Dp::inParallel(std::size_t used, Phase phase, const std::function<void(Replica &)> &task) {
    const auto run = [&](Replica &replica) {
        const c10::DeviceGuard onDevice(replica.place.device);
        const c10::AutoGradMode grad(true); // each thread has its own grad mode
        const std::int64_t startNs = monotonicNs();
        task(replica);
        if (m_deviceTimes.empty())
            return;
        const std::int64_t endNs = monotonicNs();
        const auto number = static_cast<std::size_t>(&replica - m_replicas.data());
        m_deviceTimes[number].add(phase, endNs - startNs);
        if (m_trace)
            m_trace->span(Trace::firstDevice + static_cast<int>(number), nameOf(phase).data(), startNs, endNs);
    };
    for (std::size_t i = 1; i < used; ++i)
        m_replicas[i].thread->start([&run, &replica = m_replicas[i]] { run(replica); });
    std::exception_ptr error;
    try {
        run(m_replicas[0]);
    } catch (...) {
        error = std::current_exception(); // the other threads still use this stack frame
    }
    for (std::size_t i = 1; i < used; ++i) {
        try {
            m_replicas[i].thread->wait();
        } catch (...) {
            error = std::current_exception();
        }
    }
    if (error)
        std::rethrow_exception(error);
}

} // namespace lockstep::trainer
