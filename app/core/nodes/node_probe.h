// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "nodes/node_facts.h"
#include "nodes/node_shell.h"

namespace lockstep::core {

/// A remote clock relative to ours: it is `offsetS` ahead, ± `errorS` (half the shortest round trip).
struct ClockView {
    double offsetS = 0, errorS = 0;
};
/// From one round trip, in microseconds since 1970: `sent` and `got` by our clock, `there` by the remote one.
[[nodiscard]] ClockView clockView(std::int64_t sentUs, std::int64_t thereUs, std::int64_t gotUs);

/// The snapshot of a node that one probe took.
struct NodeSnapshot {
    NodeEntry node;
    NodeTrouble trouble = NodeTrouble::None;
    std::string problem, wayOut; ///< if there is trouble
    std::string agentVersion;    ///< also set for an agent too old to report more
    std::optional<NodeFacts> facts;
    std::optional<ClockView> clock;
    [[nodiscard]] bool usable() const { return facts.has_value(); }
};
[[nodiscard]] NodeSnapshot failedProbe(const NodeEntry &node, const NodeError &error);

/// Probes once, through an open connection; takes under a second, plus the time to load LibTorch there. Blocks.
[[nodiscard]] NodeSnapshot probeNode(NodeShell &shell);
/// Connects, probes and disconnects.
[[nodiscard]] NodeSnapshot probeNode(const NodeEntry &node, const SshAnswers &answers, std::stop_token stop = {});

/// Explains an agent's failed command.
[[nodiscard]] NodeError agentError(const NodeEntry &node, const Said &said);

} // namespace lockstep::core
