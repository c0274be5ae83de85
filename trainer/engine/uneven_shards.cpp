// SPDX-License-Identifier: MIT
#include "trainer/engine/uneven_shards.h"

#include "ipc/logging.h"

namespace lockstep::trainer {

UnevenShards::UnevenShards(Session &session) : m_session(session) {
    const RunConfig &config = session.config;
    const int ranks = session.communicator->worldSize();
    if (config.shards != "even" && knowsKey(config.method, "shards") && ranks > 1)
        m_balance.emplace(processBatch(config, session.env) * ranks, ranks, config.shards == "adaptive");
}

bool UnevenShards::addStep() {
    if (!m_balance)
        return false;
    m_balance->addStep(m_session.strategy->ownTimes());
    const bool changes = m_balance->changesAfterStep();
    report();
    if (changes)
        m_session.loader->share(m_balance->shares());
    return changes;
}

void UnevenShards::startEpoch() {
    if (!m_balance || !m_balance->changesAtEpoch())
        return;
    report();
    m_session.loader->share(m_balance->shares());
}

void UnevenShards::report() {
    if (const auto sentence = m_balance->takeSentence(); sentence && m_session.isRank0())
        logInfo("shards: " + *sentence);
}

} // namespace lockstep::trainer
