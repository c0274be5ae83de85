// SPDX-License-Identifier: MIT
#include "trainer/agent/session/single_node.h"

namespace lockstep::agent {

SingleNode::SingleNode(LocalRun &local, Hooks hooks)
    : m_local(local), m_hooks(std::move(hooks)), m_traces(local.loop(), local.journal(), local.folder()) {}

void SingleNode::onRanksOver() {
    m_local.writeEnd();
    m_hooks.settle();
}

void SingleNode::collectTraces() {
    m_traces.merge(tracesOfRanks(m_local.plan()));
}

/// A script writes no summary, nor does a trainer that was stopped; its ranks' frames give one. Where the trainer went on from a
/// checkpoint, they lack the epochs before that.
void SingleNode::addToResult(RunResult &result) const {
    const RunRecord &record = m_local.plan().record;
    const bool resumed = record.config && record.config->resume;
    if (!result.summary && (result.state == RunState::Done || (result.state == RunState::Stopped && !resumed)))
        m_local.reported().addTo(result, record);
}

} // namespace lockstep::agent
