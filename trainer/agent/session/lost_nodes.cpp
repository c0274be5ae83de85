// SPDX-License-Identifier: MIT
#include "trainer/agent/session/lost_nodes.h"

#include <algorithm>

#include "trainer/agent/net/peer_tcp_state.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::milliseconds lostNodeCheckInterval{100};

std::string seconds(std::chrono::milliseconds time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}
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
    const PeerTcpState ranks = readPeerTcpState(address), &link = m_hub.node(node).linkWhenLost();
    // Ranks here that wait for the ranks there have nothing unacknowledged. The link between the agents had.
    const bool byRanks = judge(ranks) != PeerVerdict::Unknown;
    const PeerTcpState &state = byRanks ? ranks : link;
    switch (judge(state)) {
    case PeerVerdict::Gone:
        m_local.alert("node_gone",
                      host + " is down or cut off: neither its agent nor its ranks answer, and " +
                          (byRanks ? std::to_string(state.unanswered) + " of " + std::to_string(state.connections) +
                                         " connections of the ranks here with it have had no answer for "
                                   : "the last messages of the agent here were not acknowledged for ") +
                          seconds(*state.lastHeard));
        return true;
    case PeerVerdict::Alive:
        m_local.alert("node_alive",
                      "only the link between the agents is lost: " + host +
                          (byRanks ? " still answers the ranks here" : " still acknowledges what is sent to it"));
        return true;
    case PeerVerdict::Unknown:
        break;
    }
    return false;
}

} // namespace lockstep::agent
