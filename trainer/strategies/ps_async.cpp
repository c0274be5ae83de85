// SPDX-License-Identifier: MIT
#include "trainer/strategies/ps_async.h"

#include <algorithm>
#include <utility>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

namespace lockstep::trainer {

PsAsync::PsAsync(const std::shared_ptr<Model> &model, Communicator &communicator, PhaseClock &clock,
                 const Options &options)
    : m_communicator(communicator), m_clock(clock), m_passes(model, clock, options.accumulate), m_trace(options.trace),
      m_trainers(options.shares.trainers), m_shares(*model, communicator, options.shares),
      m_messenger(communicator.group()), m_updates(mostStaleness + 1) {
    const c10::AutoGradMode noGrad(false);
    const torch::Tensor &flat = m_shares.flat();
    m_flatGradients = at::empty_like(flat);
    for (const ParameterShares::Share &share : m_shares.shares()) {
        Way way;
        way.share = share;
        if (share.rank != communicator.rank()) {
            way.out = std::make_unique<ShareMessage>(std::vector<std::int64_t>{share.numbers}, flat.scalar_type());
            way.in = std::make_unique<ShareMessage>(std::vector<std::int64_t>{share.numbers}, flat.scalar_type());
        }
        m_waitOrder.insert(way.isOwn() ? m_waitOrder.begin() : m_waitOrder.end(), m_ways.size());
        m_ways.push_back(std::move(way));
    }
    if (!m_shares.server())
        return;
    m_givingWay = std::make_shared<GivingWay>(m_shares.server()->handled());
    for (const torch::Tensor &parameter : m_shares.parameters())
        parameter.register_hook([way = m_givingWay](const torch::Tensor &) { way->now(); });
}

PsAsync::~PsAsync() = default;

void PsAsync::startEpoch() {
    m_inEpoch = true;
    m_steps = 0;
    if (!m_shares.server())
        return;
    m_shares.server()->startEpoch();
    m_links = std::make_unique<ServerLinks>(*m_shares.server(), m_messenger,
                                            ServerLinks::Ranks{m_communicator.rank(), m_trainers});
}

StepOutcome PsAsync::step(const Batch &batch, bool wantStop) {
    if (!m_inEpoch)
        startEpoch();
    if (m_givingWay)
        m_givingWay->now();
    const LocalPasses::Loss loss = m_passes.untilLastBackward(batch);
    if (m_givingWay)
        m_givingWay->now();
    StepOutcome outcome{loss.reported, false};
    const std::int64_t backwardNs = monotonicNs();
    loss.toRun.backward();
    m_clock.lap(Phase::Backward);
    outcome.stop = exchange(wantStop, backwardNs);
    m_clock.lap(Phase::Exposed);
    return outcome;
}

void PsAsync::runOptimizer(Optimizer &optimizer) {
    optimizer.clearGradients();
}

void PsAsync::send(Way &way, ShareHeader::Kind kind, const ParameterServer::Step &step) {
    way.out->header().kind = kind;
    way.out->header().wantStop = step.wantStop ? 1 : 0;
    way.out->header().lrShare = step.lrShare;
    way.received = m_messenger.receive(*way.in, way.share.rank, ShareMessenger::ToRank);
    way.sent = m_messenger.send(*way.out, way.share.rank, ShareMessenger::ToServer);
}

void PsAsync::receive(Way &way) {
    way.received->wait();
    way.sent->wait();
    way.share.of(m_shares.flat()).copy_(way.in->content());
}

/// Sends the gradients and takes the new parameters. Whether this was the step after which all ranks stop.
bool PsAsync::exchange(bool wantStop, std::int64_t backwardNs) {
    const c10::AutoGradMode noGrad(false);
    const InCollective here(m_communicator.position());
    const std::int64_t readyNs = monotonicNs();
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor &parameter : m_shares.parameters())
        gradients.push_back((parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter)).flatten());
    at::cat_out(m_flatGradients, gradients);
    for (Way &way : m_ways) {
        if (way.isOwn())
            continue;
        way.out->content().copy_(way.share.of(m_flatGradients));
        send(way, ShareHeader::Gradients, {wantStop, m_lrShare});
    }
    std::vector<BucketStamp> stamps(m_ways.size());
    std::int64_t stale = 0, heldNs = 0, stopAfter = -1;
    const auto finish = [&](std::size_t server) {
        Way &way = m_ways[server];
        const ParameterServer::Update update = updateOf(way, wantStop);
        BucketStamp &stamp = stamps[server];
        stamp = {way.share.numbers * static_cast<std::int64_t>(m_flatGradients.element_size()), readyNs, readyNs,
                 monotonicNs()};
        stale += update.staleness;
        heldNs = std::max(heldNs, update.heldNs);
        ++m_updates[entryOfStaleness(update.staleness)];
        if (server == 0) { // with several servers, one decides
            stopAfter = update.stopAfter;
            m_share = static_cast<double>(update.joined) / m_trainers * update.lrShare;
        }
        if (m_trace)
            m_trace->span(Trace::firstServer + static_cast<int>(server), "exchange", readyNs, stamp.endNs, stamp.bytes,
                          readyNs);
    };
    for (const std::size_t server : m_waitOrder)
        finish(server);
    m_shares.toModel();
    m_staleness = static_cast<double>(stale) / static_cast<double>(m_ways.size());
    m_clock.add(Phase::Comm, m_statistics.add(stamps, backwardNs).commNs);
    m_clock.add(Phase::Wait, heldNs);
    m_statistics.addExposed(monotonicNs() - readyNs, heldNs);
    return ++m_steps >= stopAfter && stopAfter >= 0;
}

ParameterServer::Update PsAsync::updateOf(Way &way, bool wantStop) {
    if (way.isOwn())
        return m_shares.server()->update(m_communicator.rank(), way.share.of(m_flatGradients), {wantStop, m_lrShare},
                                         way.share.of(m_shares.flat()));
    receive(way);
    return way.in->header().update;
}

StepsEnd PsAsync::endSteps(bool stopped) {
    if (!m_inEpoch)
        return {stopped, 0};
    const c10::AutoGradMode noGrad(false);
    const InCollective here(m_communicator.position());
    const std::int64_t startNs = monotonicNs();
    const StepsEnd end{leaveServers(), leavingBytes()};
    const std::int64_t waitNs = monotonicNs() - startNs;
    if (m_links)
        m_links->join();
    m_links.reset();
    m_clock.add(Phase::Comm, monotonicNs() - startNs);
    m_clock.add(Phase::Wait, waitNs);
    m_clock.lap(Phase::Exposed);
    return end;
}

bool PsAsync::finishEpoch(Optimizer &optimizer, bool stopped) {
    if (!std::exchange(m_inEpoch, false))
        return stopped;
    const std::int64_t startNs = monotonicNs();
    const bool stop = m_shares.endEpoch(optimizer, stopped);
    m_clock.add(Phase::Comm, monotonicNs() - startNs);
    m_clock.lap(Phase::Exposed);
    return stop;
}

/// Takes the epoch's last parameters once all ranks have sent their last gradients. Whether some rank wants to stop.
bool PsAsync::leaveServers() {
    bool stop = false;
    for (Way &way : m_ways)
        if (!way.isOwn())
            send(way, ShareHeader::Leaving, {});
    for (const std::size_t server : m_waitOrder) {
        Way &way = m_ways[server];
        bool wanted = false;
        if (way.isOwn()) {
            wanted = m_shares.server()->leave(m_communicator.rank(), way.share.of(m_shares.flat()));
        } else {
            receive(way);
            wanted = way.in->header().wantStop != 0;
        }
        stop = server == 0 ? wanted : stop; // with several servers, one decides
    }
    return stop;
}

/// What leaveServers() sends, and receives: with each other server a message each way, and at its own server as many as there are others.
std::int64_t PsAsync::leavingBytes() const {
    std::int64_t bytes = 0;
    for (const Way &way : m_ways)
        bytes += ShareMessage::bytes({way.share.numbers}, m_flatGradients.scalar_type()) *
                 (way.isOwn() ? m_trainers - 1 : 1);
    return bytes;
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
