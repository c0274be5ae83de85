// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>

#include "trainer/agent/nodes/node_link.h"
#include "trainer/agent/session/local_run.h"

namespace lockstep::agent {

/// Sends the traces that ranks of a node K > 0 have written to agent 0, each once.
class TraceSender {
public:
    TraceSender(LocalRun &local, NodeLink &link) : m_local(local), m_link(link) {}
    void sendNew();

private:
    LocalRun &m_local;
    NodeLink &m_link;
    std::map<int, std::filesystem::file_time_type> m_sent; ///< by rank: modification time of the trace that was sent
};

} // namespace lockstep::agent
