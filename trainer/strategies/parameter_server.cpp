// SPDX-License-Identifier: MIT
#include "trainer/strategies/parameter_server.h"

#include <algorithm>
#include <utility>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

ParameterServer::ParameterServer(torch::Tensor parameters, const OptimizerOptions &optimizer, int ranks,
                                 std::int64_t maxStaleness)
    : m_parameters(std::move(parameters)), m_optimizer({{shareName, m_parameters}}, optimizer),
      m_maxStaleness(maxStaleness), m_ranks(static_cast<std::size_t>(ranks)) {}

void ParameterServer::startEpoch() {
    const std::lock_guard lock(m_mutex);
    for (Rank &rank : m_ranks) {
        rank = Rank();
        rank.read = m_version;
    }
    m_stopAfter = -1;
}

ParameterServer::Update ParameterServer::update(int number, const torch::Tensor &gradients, const Step &step,
                                                torch::Tensor into) {
    const c10::AutoGradMode noGrad(false); // the mode belongs to the thread
    std::unique_lock lock(m_mutex);
    Rank &rank = m_ranks[static_cast<std::size_t>(number)];
    rank.gradients = gradients;
    rank.lrShare = step.lrShare;
    rank.doing = Doing::Waits;
    rank.arrivedNs = monotonicNs();
    ++rank.steps;
    if (step.wantStop)
        noteWish();
    ++*m_handled;
    m_changed.notify_all(); // who only serves follows the steps
    updateIfAllowed();
    m_changed.wait(lock, [&] { return rank.doing != Doing::Waits || m_failure; });
    throwIfFailed();
    into.copy_(m_parameters);
    rank.last.stopAfter = m_stopAfter;
    ++*m_handled;
    const Update done = rank.last;
    if (std::exchange(rank.read, m_version) != m_version)
        updateIfAllowed(); // it reads something newer than it was going to
    return done;
}

/// Uses the gradients that wait, unless a rank that still computes would come to use parameters that are too old.
void ParameterServer::updateIfAllowed() {
    std::vector<Rank *> waiting;
    for (Rank &rank : m_ranks) {
        if (rank.doing == Doing::Waits)
            waiting.push_back(&rank);
        else if (rank.doing == Doing::Computes && m_maxStaleness != unlimited &&
                 m_version + 1 - rank.read > m_maxStaleness)
            return;
    }
    if (waiting.empty())
        return;
    const std::int64_t nowNs = monotonicNs();
    const auto joined = static_cast<std::int64_t>(waiting.size());
    torch::Tensor sum = waiting.front()->gradients;
    for (std::size_t i = 1; i < waiting.size(); ++i)
        sum = i == 1 ? at::add(sum, waiting[i]->gradients) : sum.add_(waiting[i]->gradients);
    double lrShare = waiting.front()->lrShare;
    for (const Rank *rank : waiting) // in this way the mean of equal numbers is that number to the last bit
        lrShare += (rank->lrShare - waiting.front()->lrShare) / static_cast<double>(joined);
    m_parameters.mutable_grad() = joined > 1 ? sum.div_(joined) : sum;
    m_optimizer.setLrShare(lrShare);
    m_optimizer.step(static_cast<double>(joined) / static_cast<double>(m_ranks.size()));
    m_optimizer.clearGradients();
    for (Rank *rank : waiting) {
        rank->last = {m_version - rank->read, nowNs - rank->arrivedNs, joined, -1, lrShare};
        rank->gradients = torch::Tensor();
        rank->doing = Doing::Computes;
        rank->read = m_version + 1;
    }
    ++m_version;
    m_changed.notify_all();
}

/// A rank that computes learns only at the end of its step that all want to stop.
void ParameterServer::noteWish() {
    if (m_stopAfter >= 0)
        return;
    for (const Rank &rank : m_ranks)
        m_stopAfter = std::max(m_stopAfter, rank.steps + (rank.doing == Doing::Computes ? 1 : 0));
}

bool ParameterServer::leave(int number, torch::Tensor into) {
    const c10::AutoGradMode noGrad(false);
    std::unique_lock lock(m_mutex);
    m_ranks[static_cast<std::size_t>(number)].doing = Doing::Left;
    updateIfAllowed();
    m_changed.notify_all();
    m_changed.wait(lock, [&] {
        return m_failure || std::ranges::all_of(m_ranks, [](const Rank &rank) { return rank.doing == Doing::Left; });
    });
    throwIfFailed();
    into.copy_(m_parameters);
    return m_stopAfter >= 0;
}

bool ParameterServer::waitBeyond(std::int64_t steps, bool wantStop) {
    std::unique_lock lock(m_mutex);
    if (wantStop)
        noteWish();
    const auto hasLeft = [](const Rank &rank) { return rank.doing == Doing::Left; };
    m_changed.wait(lock, [&] {
        return m_failure ||
               std::ranges::all_of(m_ranks, [&](const Rank &rank) { return rank.steps > steps || hasLeft(rank); });
    });
    throwIfFailed();
    // They may have left before this process came to count: it counts all of their steps nevertheless, as they have.
    const std::int64_t most = std::ranges::max(m_ranks, {}, &Rank::steps).steps;
    return steps < most || !std::ranges::all_of(m_ranks, hasLeft);
}

bool ParameterServer::stopWanted() {
    const std::lock_guard lock(m_mutex);
    throwIfFailed();
    return m_stopAfter >= 0;
}

void ParameterServer::fail(std::exception_ptr why) {
    const std::lock_guard lock(m_mutex);
    if (!m_failure)
        m_failure = std::move(why);
    m_changed.notify_all();
}

void ParameterServer::throwIfFailed() const {
    if (m_failure)
        std::rethrow_exception(m_failure);
}

} // namespace lockstep::trainer
