// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <memory>

#include "trainer/agent/nodes/node_link.h"
#include "trainer/agent/session/local_run.h"

namespace lockstep::agent {

/// Sends the traces that ranks of a node K > 0 have written to agent 0, each once.
class TraceSender {
public:
    using Sent =
        std::map<int, std::filesystem::file_time_type>; ///< by rank: modification time of the trace that was sent
    TraceSender(LocalRun &local, NodeLink &link) : m_local(local), m_link(link) {}
    void sendNew();

private:
    LocalRun &m_local;
    NodeLink &m_link;
    std::shared_ptr<Sent> m_sent = std::make_shared<Sent>(); ///< of the disk's thread
};

} // namespace lockstep::agent
