#pragma once
#include <optional>
#include <string>

#include "nodes/node_facts.h"
#include "nodes/node_shell.h"

namespace lockstep::core {

/// A clock as seen from here: over there is `offsetS` ahead, give or take `errorS` (half the shortest round trip).
struct ClockView {
    double offsetS = 0, errorS = 0;
};
/// From one round trip, all in microseconds since 1970: sent and got by our clock, `there` by the other one.
[[nodiscard]] ClockView clockView(std::int64_t sentUs, std::int64_t thereUs, std::int64_t gotUs);

/// What one look at a node found.
struct NodeLook {
    NodeEntry node;
    NodeTrouble trouble = NodeTrouble::None;
    std::string problem, wayOut; ///< when there is trouble
    std::string agentVersion;    ///< also of an agent that is too old to say more
    std::optional<NodeFacts> facts;
    std::optional<ClockView> clock;
    [[nodiscard]] bool usable() const { return facts.has_value(); }
};
[[nodiscard]] NodeLook troubledLook(const NodeEntry &node, const NodeError &error);

/// Looks once, through an open connection; under a second, but for LibTorch's loading there. Blocks.
[[nodiscard]] NodeLook lookAtNode(NodeShell &shell);
/// Connects, looks and leaves.
[[nodiscard]] NodeLook lookAtNode(const NodeEntry &node, const SshAnswers &answers, std::stop_token stop = {});

/// What an agent's failed command means.
[[nodiscard]] NodeError agentError(const NodeEntry &node, const Said &said);

} // namespace lockstep::core
