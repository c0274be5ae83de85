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

/// A script writes no summary, nor does a trainer that was stopped; its ranks' frames give one.
void SingleNode::addToResult(RunResult &result) const {
    if (m_local.started())
        m_local.reported().addTo(result, m_local.plan().record);
}

} // namespace lockstep::agent
