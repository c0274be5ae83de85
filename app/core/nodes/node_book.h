#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "launch/command_prefix.h"

namespace lockstep::core {

/// One machine that runs may be put on, as a person added it.
struct NodeEntry {
    std::string name;      ///< what it is called here: letters, digits, . _ -
    std::string how;       ///< "local", "ssh" or "slurm"
    std::string host;      ///< "ssh": as the person's own ssh configuration knows it; "slurm": the node's name there
    std::string partition; ///< "slurm"
    std::string agent;     ///< path of lockstep-agent there; empty: in PATH (here: beside our own programs)
    std::string interface; ///< for Gloo, NCCL and rendezvous; empty: not chosen yet
    bool interfacePinned = false; ///< by a person: the doctor says when it is wrong and leaves it as it is
    std::string
        torch; ///< version its trainer uses, where from: "2.11.0 by sync", "2.11.0 in /opt/torch"; empty: unknown
    std::string lineReason = {}; ///< why sync chose that version, one sentence
    bool operator==(const NodeEntry &) const = default;
};

/// dataHome()/nodes.json: {"nodes":[{"name":…}]}. A missing file is an empty book.
[[nodiscard]] Result<std::vector<NodeEntry>> readNodes();
[[nodiscard]] Result<std::vector<NodeEntry>> nodesFromJson(std::string_view text);
[[nodiscard]] std::string toJson(const std::vector<NodeEntry> &nodes);
/// Reads, changes and writes the book under its lock; an error of `change` leaves it as it was. Blocks for a moment.
[[nodiscard]] Result<void> changeNodes(const std::function<Result<void>(std::vector<NodeEntry> &)> &change);

/// Name and host are checked: neither may reach a shell as more than a word.
[[nodiscard]] Result<void> checkNode(const NodeEntry &node);
[[nodiscard]] Result<void> addNode(const NodeEntry &node); ///< refuses a name that is taken
[[nodiscard]] Result<void> removeNode(std::string_view name);
[[nodiscard]] Result<void> replaceNode(const NodeEntry &node); ///< of the same name
/// Those named, in that order; none named: all. An unknown name is answered with those there are.
[[nodiscard]] Result<std::vector<NodeEntry>> chosenNodes(const std::vector<std::string> &names);

/// What stands before lockstep-agent so that it runs on this node.
[[nodiscard]] Result<CommandPrefix> prefixFor(const NodeEntry &node);

} // namespace lockstep::core
