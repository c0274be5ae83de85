// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_prefix.h"
#include "ipc/error.h"
#include "nodes/document_lock.h"

namespace lockstep::core {

/// One machine for runs, as a person added it.
struct NodeEntry {
    std::string name;      ///< our name for it: letters, digits, . _ -
    std::string how;       ///< "local", "ssh" or "slurm"
    std::string host;      ///< "ssh": name in the person's ssh configuration; "slurm": the node's name there
    std::string partition; ///< "slurm"
    std::string agent;     ///< path of lockstep-agent there; empty: in PATH (this machine: next to our own programs)
    std::string interface; ///< for Gloo, NCCL and rendezvous; empty: not chosen yet
    bool interfacePinned = false; ///< set by a person: the doctor reports a wrong one but does not change it
    std::string torch; ///< its trainer's version and origin: "2.11.0 by sync", "2.11.0 in /opt/torch"; empty: unknown
    std::string lineReason = {}; ///< why sync chose that version, one sentence
    bool operator==(const NodeEntry &) const = default;
};

/// dataHome()/nodes.json: {"nodes":[{"name":…}]}. A missing file is an empty list.
[[nodiscard]] Result<std::vector<NodeEntry>> readNodes();
[[nodiscard]] Result<std::vector<NodeEntry>> nodesFromJson(std::string_view text);
[[nodiscard]] std::string toJson(const std::vector<NodeEntry> &nodes);
/// Reads, changes and writes the list under its lock; an error of `change` leaves it as it was, and so
/// does a node that checkNode() refuses. Blocks up to `patience`.
[[nodiscard]] Result<void> changeNodes(const std::function<Result<void>(std::vector<NodeEntry> &)> &change,
                                       Patience patience = commandPatience);

/// Rejects names and hosts that a shell would not read as a single word.
[[nodiscard]] Result<void> checkNode(const NodeEntry &node);
/// Refuses a name that is taken.
[[nodiscard]] Result<void> addNode(const NodeEntry &node, Patience patience = commandPatience);
[[nodiscard]] Result<void> removeNode(std::string_view name, Patience patience = commandPatience);
[[nodiscard]] Result<void> replaceNode(const NodeEntry &node); ///< of the same name
/// The named nodes, in that order; no names: all. The error of an unknown name lists the known ones.
[[nodiscard]] Result<std::vector<NodeEntry>> chosenNodes(const std::vector<std::string> &names);

/// The command prefix that runs lockstep-agent on this node.
[[nodiscard]] Result<CommandPrefix> prefixFor(const NodeEntry &node);

} // namespace lockstep::core
