// SPDX-License-Identifier: MIT
#pragma once
#include <set>
#include <string>

#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/nodes/node_hub.h"
#include "trainer/agent/session/local_run.h"

namespace lockstep::agent {

/// Finds out for node 0 what a lost link means. The kernel's state of the connections between the ranks here and that
/// node shows whether the node still answers; where these are idle, that of the link itself when it was lost does.
/// Raises one alert per loss.
class LostNodes {
public:
    LostNodes(LocalRun &local, const NodeHub &hub) : m_local(local), m_hub(hub) {}
    ~LostNodes() { stop(); }
    LostNodes(const LostNodes &) = delete;
    LostNodes &operator=(const LostNodes &) = delete;

    void onLink(const LinkFrame &link); ///< a link was lost, is up or has ended
    void stop() { m_local.loop().cancel(m_timer); }

private:
    void check();
    bool judgeNode(int node);

    LocalRun &m_local;
    const NodeHub &m_hub;
    std::set<int> m_unjudged;
    EventLoop::Token m_timer = 0;
};

} // namespace lockstep::agent
