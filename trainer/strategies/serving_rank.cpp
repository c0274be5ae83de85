// SPDX-License-Identifier: MIT
#include "trainer/strategies/serving_rank.h"

#include <utility>

namespace lockstep::trainer {

ServingRank::ServingRank(const Model &model, Communicator &communicator, PhaseClock &clock,
                         const ParameterShares::Options &options)
    : m_communicator(communicator), m_clock(clock), m_trainers(options.trainers),
      m_shares(model, communicator, options), m_messenger(communicator.group()) {}

ServingRank::~ServingRank() = default;

void ServingRank::startEpoch() {
    m_steps = 0;
    m_shares.server()->startEpoch();
    m_links =
        std::make_unique<ServerLinks>(*m_shares.server(), m_messenger, ServerLinks::Ranks{m_trainers, m_trainers});
}

StepOutcome ServingRank::step(const Batch & /*batch*/, bool wantStop) {
    if (!m_links)
        startEpoch();
    const InCollective here(m_communicator.position());
    const std::int64_t startNs = monotonicNs();
    const bool goesOn = m_shares.server()->waitBeyond(++m_steps, wantStop);
    m_clock.add(Phase::Wait, monotonicNs() - startNs);
    m_clock.lap(Phase::Exposed);
    return {torch::zeros({}), !goesOn};
}

StepsEnd ServingRank::endSteps(bool stopped) {
    if (!m_links)
        return {stopped, 0};
    const InCollective here(m_communicator.position());
    m_links->join();
    m_clock.lap(Phase::Exposed);
    const torch::Tensor share = m_shares.server()->parameters();
    return {m_shares.server()->stopWanted(), m_trainers * ShareMessage::bytes({share.numel()}, share.scalar_type())};
}

bool ServingRank::finishEpoch(Optimizer &optimizer, bool stopped) {
    if (!std::exchange(m_links, {}))
        return stopped;
    const bool stop = m_shares.endEpoch(optimizer, stopped);
    m_clock.lap(Phase::Exposed);
    return stop;
}

} // namespace lockstep::trainer
