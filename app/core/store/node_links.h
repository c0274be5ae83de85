// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>

#include <QString>

#include "store/run_data.h"

namespace lockstep::core {

/// The links from agent 0 of a run to the other nodes' agents, as agent 0 last reported them.
class NodeLinks {
public:
    void take(const Frame &frame, const LinkFrame &body);

    [[nodiscard]] const std::map<int, NodeLink> &all() const { return m_links; } ///< by node; empty for one node
    /// How far a node's clock is ahead of node 0's; absent: unknown.
    [[nodiscard]] std::optional<double> clockOffsetS(int node) const;
    [[nodiscard]] bool anyLost() const; ///< links that have ended are not lost
    /// One line for people: "3 nodes, all links up", "link to hostB lost, …"; empty for one node.
    [[nodiscard]] QString sentence() const;

private:
    std::map<int, NodeLink> m_links;
};

} // namespace lockstep::core
