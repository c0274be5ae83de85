// SPDX-License-Identifier: MIT
#include "trainer/strategies/serving_rank.h"

namespace lockstep::trainer {

ServingRank::ServingRank(const Model &model, Communicator &communicator, PhaseClock &clock,
                         const ParameterShares::Options &options)
    : m_clock(clock), m_trainers(options.trainers), m_shares(model, communicator, options),
      m_messenger(communicator.group()) {}

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
    const std::int64_t startNs = monotonicNs();
    const bool goesOn = m_shares.server()->waitBeyond(++m_steps, wantStop);
    m_clock.add(Phase::Wait, monotonicNs() - startNs);
    m_clock.lap(Phase::Exposed);
    return {torch::zeros({}), !goesOn};
}

bool ServingRank::finishEpoch(Optimizer &optimizer, bool stopped) {
    if (!m_links)
        return stopped;
    m_links->join();
    m_links.reset();
    const bool stop = m_shares.endEpoch(optimizer, m_shares.server()->stopWanted());
    m_clock.lap(Phase::Exposed);
    return stop;
}

} // namespace lockstep::trainer
