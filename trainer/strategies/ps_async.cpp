// SPDX-License-Identifier: MIT
#include "trainer/strategies/ps_async.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "trainer/strategies/flat_tensors.h"

namespace lockstep::trainer {

PsAsync::PsAsync(const std::shared_ptr<Model> &model, Communicator &communicator, PhaseClock &clock,
                 const Options &options)
    : m_communicator(communicator), m_clock(clock), m_passes(model, clock, options.accumulate), m_trace(options.trace),
      m_messenger(communicator.group()), m_updates(mostStaleness + 1) {
    const c10::AutoGradMode noGrad(false);
    for (const auto &item : model->named_parameters()) {
        m_names.push_back(item.key());
        m_parameters.push_back(item.value());
    }
    c10d::verify_params_across_processes(communicator.group(), m_parameters, {});
    communicator.broadcast(m_parameters);
    m_flatParameters = flattened(m_parameters);
    m_flatGradients = at::empty_like(m_flatParameters);
    const std::int64_t all = m_flatParameters.numel();
    for (int server = 0; server < options.servers; ++server) {
        Share share;
        share.server = server;
        share.first = all * server / options.servers;
        share.numbers = all * (server + 1) / options.servers - share.first;
        if (server == communicator.rank()) {
            m_server = std::make_unique<ParameterServer>(share.of(m_flatParameters).clone(), options.optimizer,
                                                         communicator.worldSize(), options.maxStaleness);
        } else {
            share.out = std::make_unique<ShareMessage>(std::vector<std::int64_t>{share.numbers},
                                                       m_flatParameters.scalar_type());
            share.in = std::make_unique<ShareMessage>(std::vector<std::int64_t>{share.numbers},
                                                      m_flatParameters.scalar_type());
        }
        m_shares.push_back(std::move(share));
    }
}

PsAsync::~PsAsync() = default;

void PsAsync::startEpoch() {
    m_inEpoch = true;
    m_steps = 0;
    if (!m_server)
        return;
    m_server->startEpoch();
    m_links = std::make_unique<ServerLinks>(*m_server, m_messenger, m_communicator.rank(), m_communicator.worldSize());
}

StepOutcome PsAsync::step(const Batch &batch, bool wantStop) {
    if (!m_inEpoch)
        startEpoch();
    const LocalPasses::Loss loss = m_passes.untilLastBackward(batch);
    StepOutcome outcome{loss.reported, false};
    const std::int64_t backwardNs = monotonicNs();
    loss.toRun.backward();
    m_clock.lap(Phase::Backward);
    outcome.stop = exchange(wantStop, backwardNs);
    m_clock.lap(Phase::Exposed);
    return outcome;
}

void PsAsync::setLrShare(double share) {
    if (m_server)
        m_server->optimizer().setLrShare(share);
}

void PsAsync::runOptimizer(Optimizer &optimizer) {
    optimizer.clearGradients();
}

void PsAsync::send(Share &share, ShareHeader::Kind kind, bool wantStop) {
    share.out->header().kind = kind;
    share.out->header().wantStop = wantStop ? 1 : 0;
    share.received = m_messenger.receive(*share.in, share.server, ShareMessenger::ToRank);
    share.sent = m_messenger.send(*share.out, share.server, ShareMessenger::ToServer);
}

void PsAsync::receive(Share &share) {
    share.received->wait();
    share.sent->wait();
    share.of(m_flatParameters).copy_(share.in->content());
}

/// Sends the gradients and takes the new parameters. Whether this was the step after which all ranks stop.
bool PsAsync::exchange(bool wantStop, std::int64_t backwardNs) {
    const c10::AutoGradMode noGrad(false);
    const std::int64_t readyNs = monotonicNs();
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor &parameter : m_parameters)
        gradients.push_back((parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter)).flatten());
    at::cat_out(m_flatGradients, gradients);
    for (Share &share : m_shares) {
        if (share.isOwn())
            continue;
        share.out->content().copy_(share.of(m_flatGradients));
        send(share, ShareHeader::Gradients, wantStop);
    }
    std::vector<BucketStamp> stamps(m_shares.size());
    std::int64_t stale = 0, heldNs = 0, stopAfter = -1;
    const auto finish = [&](Share &share) {
        const ParameterServer::Update update = updateOf(share, wantStop);
        BucketStamp &stamp = stamps[static_cast<std::size_t>(share.server)];
        stamp = {share.numbers * static_cast<std::int64_t>(m_flatParameters.element_size()), readyNs, readyNs,
                 monotonicNs()};
        stale += update.staleness;
        heldNs = std::max(heldNs, update.heldNs);
        ++m_updates[static_cast<std::size_t>(std::min(update.staleness, mostStaleness))];
        if (share.server == 0) { // with several servers, one decides
            stopAfter = update.stopAfter;
            m_share = static_cast<double>(update.joined) / m_communicator.worldSize();
        }
        if (m_trace)
            m_trace->span(Trace::firstServer + share.server, "exchange", readyNs, stamp.endNs, stamp.bytes, readyNs);
    };
    for (const bool own : {true, false}) // the others' answers come meanwhile
        for (Share &share : m_shares)
            if (share.isOwn() == own)
                finish(share);
    copyFlat(m_flatParameters, m_parameters);
    m_staleness = static_cast<double>(stale) / static_cast<double>(m_shares.size());
    m_clock.add(Phase::Comm, m_statistics.add(stamps, backwardNs).commNs);
    m_clock.add(Phase::Wait, heldNs);
    m_statistics.addExposed(monotonicNs() - readyNs, heldNs);
    return ++m_steps >= stopAfter && stopAfter >= 0;
}

ParameterServer::Update PsAsync::updateOf(Share &share, bool wantStop) {
    if (share.isOwn())
        return m_server->update(m_communicator.rank(), share.of(m_flatGradients), wantStop, share.of(m_flatParameters));
    receive(share);
    return share.in->header().update;
}

bool PsAsync::finishEpoch(Optimizer &optimizer, bool stopped) {
    if (!m_inEpoch)
        return stopped;
    const c10::AutoGradMode noGrad(false);
    const std::int64_t startNs = monotonicNs();
    const bool stop = leaveServers();
    const std::int64_t waitNs = monotonicNs() - startNs;
    if (m_links)
        m_links->join();
    m_links.reset();
    m_inEpoch = false;
    copyFlat(m_flatParameters, m_parameters);
    shareState(optimizer);
    m_clock.add(Phase::Comm, monotonicNs() - startNs);
    m_clock.add(Phase::Wait, waitNs);
    m_clock.lap(Phase::Exposed);
    return stop;
}

/// Takes the epoch's last parameters once all ranks have sent their last gradients. Whether some rank wants to stop.
bool PsAsync::leaveServers() {
    bool stop = false;
    for (Share &share : m_shares)
        if (!share.isOwn())
            send(share, ShareHeader::Leaving, false);
    for (Share &share : m_shares) {
        bool wanted = false;
        if (share.isOwn()) {
            wanted = m_server->leave(m_communicator.rank(), share.of(m_flatParameters));
        } else {
            receive(share);
            wanted = share.in->header().wantStop != 0;
        }
        stop = share.server == 0 ? wanted : stop;
    }
    return stop;
}

/// Gives all ranks the state of the servers' optimizers, for checkpoints and for a rollback.
void PsAsync::shareState(Optimizer &optimizer) {
    NamedTensors named;
    const auto &own = optimizer.stateTensors();
    for (std::size_t k = 0; k < own.size(); ++k) {
        const auto &[key, tensors] = own[k];
        const bool isCount = tensors.front().dim() == 0; // Adam's number of steps: one a server
        torch::Tensor flat =
            at::zeros({isCount ? static_cast<std::int64_t>(m_shares.size()) : m_flatParameters.numel()},
                      tensors.front().options());
        for (const Share &share : m_shares) {
            const torch::Tensor part = isCount ? flat.narrow(0, share.server, 1) : share.of(flat);
            if (share.isOwn())
                part.copy_(m_server->optimizer().stateTensors()[k].second.front());
            m_communicator.broadcastFrom(share.server, part);
        }
        const auto parts = isCount ? std::vector<torch::Tensor>(tensors.size(), flat[0]) : unflattened(flat, tensors);
        for (std::size_t i = 0; i < parts.size(); ++i)
            named.emplace_back(Optimizer::stateName(m_names[i], key), parts[i]);
    }
    if (auto loaded = optimizer.load(named); !loaded)
        throw std::logic_error(loaded.error().message()); // cannot happen: the names and shapes are its own
}

void PsAsync::takeOptimizerState(const Optimizer &optimizer) {
    const c10::AutoGradMode noGrad(false);
    m_flatParameters.copy_(flattened(m_parameters));
    if (!m_server)
        return;
    const Share &share = m_shares[static_cast<std::size_t>(m_communicator.rank())];
    m_server->parameters().copy_(share.of(m_flatParameters));
    NamedTensors state;
    if (!optimizer.state().empty())
        for (const auto &[key, tensors] : optimizer.stateTensors()) {
            const bool isCount = tensors.front().dim() == 0;
            state.emplace_back(Optimizer::stateName(ParameterServer::shareName, key),
                               isCount ? tensors.front() : share.of(flattened(tensors)));
        }
    if (auto loaded = m_server->optimizer().load(state); !loaded)
        throw std::logic_error(loaded.error().message()); // cannot happen: the names and shapes are its own
}

std::optional<CommFrame> PsAsync::takeComm() {
    auto frame = m_statistics.take();
    if (!frame)
        return frame;
    frame->staleness = std::exchange(m_updates, std::vector<std::int64_t>(mostStaleness + 1));
    while (frame->staleness.size() > 1 && frame->staleness.back() == 0)
        frame->staleness.pop_back();
    return frame;
}

} // namespace lockstep::trainer
