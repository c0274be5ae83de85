// SPDX-License-Identifier: MIT
#include "trainer/agent/session/lost_nodes.h"

#include <algorithm>

#include "trainer/agent/net/peer_tcp_state.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::milliseconds lostNodeCheckInterval{100};
} // namespace

void LostNodes::onLink(const LinkFrame &link) {
    if (link.link != "lost") {
        m_unjudged.erase(link.ofNode);
        return;
    }
    m_unjudged.insert(link.ofNode);
    if (m_timer == 0 && !m_local.over())
        m_timer = m_local.loop().every(lostNodeCheckInterval, [this] { check(); });
}

void LostNodes::check() {
    std::erase_if(m_unjudged, [this](int node) { return !m_hub.node(node).isLost() || judgeNode(node); });
    if (m_unjudged.empty())
        stop();
}

/// False: it cannot be decided yet.
bool LostNodes::judgeNode(int node) {
    const std::string address = addressOfPeer(m_hub.node(node).peer()), host = m_hub.node(node).title();
    const auto &own = m_local.plan().record.machines.front().interfaces;
    if (std::any_of(own.begin(), own.end(), [&](const auto &one) { return one.second == address; }))
        return true; // the node is this machine itself
    const PeerTcpState state = readPeerTcpState(address);
    switch (judge(state)) {
    case PeerVerdict::Gone: {
        const auto silent = std::chrono::duration_cast<std::chrono::seconds>(*state.lastHeard);
        m_local.alert("error", "node_gone",
                      host + " is down or cut off: neither its agent nor its ranks answer, and " +
                          std::to_string(state.unanswered) + " of " + std::to_string(state.connections) +
                          " connections of the ranks here with it have had no answer for " +
                          std::to_string(silent.count()) + " s");
        return true;
    }
    case PeerVerdict::Alive:
        m_local.alert("warning", "node_alive",
                      "only the link between the agents is lost: " + host + " still answers the ranks here");
        return true;
    case PeerVerdict::Unknown:
        break;
    }
    return false;
}

} // namespace lockstep::agent
