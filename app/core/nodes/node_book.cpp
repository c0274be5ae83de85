// SPDX-License-Identifier: MIT
#include "nodes/node_book.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/printable.h"
#include "ipc/run_folder.h"
#include "nodes/node_facts.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

bool isNodeName(std::string_view name) {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !name.empty() && name.size() <= 64 && name.front() != '-' && name.front() != '.' &&
           name.find_first_not_of(allowed) == std::string_view::npos;
}

/// The text, unless it would be refused when it is read: then every later command would fail.
Result<std::string> readableText(const std::vector<NodeEntry> &nodes) {
    std::string text = toJson(nodes);
    if (text.size() > largestDocument)
        return fail(Error::badArgument("the list of nodes would have more than the " +
                                           std::to_string(largestDocument >> 20) + " MiB that it may have",
                                       "remove nodes that you don't use: lockstepctl nodes remove NAME"));
    if (auto read = nodesFromJson(text); !read)
        return fail(read.error());
    return text;
}

} // namespace

Result<std::vector<NodeEntry>> nodesFromJson(std::string_view text) {
    try {
        std::vector<NodeEntry> nodes;
        const Json root = documents::objectIn(text);
        for (const Json &json : root.at("nodes")) {
            NodeEntry node;
            node.name = json.at("name").get<std::string>();
            node.how = json.value("how", "ssh");
            node.host = json.value("host", "");
            node.partition = json.value("partition", "");
            node.agent = json.value("agent", "");
            node.interface = json.value("interface", "");
            node.interfacePinned = json.value("interface_pinned", false);
            node.torch = json.value("torch", "");
            node.lineReason = json.value("line_reason", "");
            if (auto right = checkNode(node); !right)
                return fail(right.error());
            nodes.push_back(std::move(node));
        }
        return nodes;
    } catch (const std::exception &exception) {
        return fail(
            Error::failed(nodesFile() + " is not valid: " + exception.what(), "move it away and add the nodes again"));
    }
}

std::string toJson(const std::vector<NodeEntry> &nodes) {
    Json root = {{"nodes", Json::array()}};
    for (const NodeEntry &node : nodes)
        root["nodes"].push_back({{"name", node.name},
                                 {"how", node.how},
                                 {"host", node.host},
                                 {"partition", node.partition},
                                 {"agent", node.agent},
                                 {"interface", node.interface},
                                 {"interface_pinned", node.interfacePinned},
                                 {"torch", node.torch},
                                 {"line_reason", node.lineReason}});
    return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<NodeEntry>> readNodes() {
    if (!isThere(nodesFile()))
        return {};
    const auto text = realFileSystem().readAll(nodesFile());
    return text ? nodesFromJson(*text) : fail(text.error());
}

Result<void> changeNodes(const std::function<Result<void>(std::vector<NodeEntry> &)> &change, Patience patience) {
    if (auto made = realFileSystem().makeFolders(dataHome()); !made)
        return made;
    const auto lock = lockOfDocument(nodesFile(), patience);
    if (!lock)
        return fail(lock.error());
    auto nodes = readNodes();
    if (!nodes)
        return fail(nodes.error());
    if (auto changed = change(*nodes); !changed)
        return changed;
    const auto text = readableText(*nodes);
    return text ? realFileSystem().writeAtomically(nodesFile(), *text) : fail(text.error());
}

Result<void> checkNode(const NodeEntry &node) {
    if (!isNodeName(node.name))
        return fail(Error::badArgument("node name '" + printableName(node.name) +
                                           "' is refused: only letters, digits and ._- are allowed",
                                       "choose a name like node1", "name"));
    if (node.how != "local" && node.how != "ssh" && node.how != "slurm")
        return fail(Error::badArgument("a node is this machine or reached by ssh or slurm, not by '" +
                                       printableName(node.how) + "'"));
    if (node.how != "local" && node.host.empty())
        return fail(Error::badArgument("node " + node.name + " has no host", "give the name under which ssh reaches it",
                                       "host"));
    if (auto plain = checkAgentPath(node.agent); !plain)
        return plain;
    if (!node.interface.empty() && !isInterfaceName(node.interface))
        return fail(Error::badArgument("'" + printableName(node.interface) + "', the interface of " + node.name +
                                           ", is not the name of a network interface",
                                       "give one as `ip link` shows it", "interface"));
    if (!node.partition.empty() && !isNodeName(node.partition))
        return fail(Error::badArgument("'" + printableName(node.partition) + "' is not the name of a partition",
                                       "give one as `sinfo` shows it", "partition"));
    if (node.how == "local")
        return {};
    const auto prefix = prefixFor(node.host, node.agent); // also checks the host name
    return prefix ? Result<void>() : fail(prefix.error());
}

Result<void> addNode(const NodeEntry &node, Patience patience) {
    if (auto right = checkNode(node); !right)
        return right;
    return changeNodes(
        [&](std::vector<NodeEntry> &nodes) -> Result<void> {
            if (std::any_of(nodes.begin(), nodes.end(), [&](const NodeEntry &one) { return one.name == node.name; }))
                return fail(Error::badArgument("there is a node " + node.name + " already",
                                               "choose another name, or remove that node", "name"));
            nodes.push_back(node);
            return {};
        },
        patience);
}

Result<void> removeNode(std::string_view name, Patience patience) {
    return changeNodes(
        [&](std::vector<NodeEntry> &nodes) -> Result<void> {
            if (std::erase_if(nodes, [&](const NodeEntry &one) { return one.name == name; }) == 0)
                return fail(Error::badArgument("there is no node " + printableName(name),
                                               "`lockstepctl nodes` lists them", "name"));
            return {};
        },
        patience);
}

Result<void> replaceNode(const NodeEntry &node) {
    if (auto right = checkNode(node); !right)
        return right;
    return changeNodes([&](std::vector<NodeEntry> &nodes) -> Result<void> {
        const auto found =
            std::find_if(nodes.begin(), nodes.end(), [&](const NodeEntry &one) { return one.name == node.name; });
        if (found == nodes.end())
            return fail(Error::badArgument("there is no node " + node.name, "`lockstepctl nodes` lists them", "name"));
        *found = node;
        return {};
    });
}

Result<std::vector<NodeEntry>> chosenNodes(const std::vector<std::string> &names) {
    auto all = readNodes();
    if (!all || names.empty())
        return all;
    std::vector<NodeEntry> chosen;
    for (const std::string &name : names) {
        const auto found =
            std::find_if(all->begin(), all->end(), [&](const NodeEntry &one) { return one.name == name; });
        if (found == all->end()) {
            std::string known;
            for (const NodeEntry &one : *all)
                known += (known.empty() ? "" : ", ") + one.name;
            return fail(Error::badArgument(
                "there is no node " + printableName(name),
                known.empty() ? "add it: lockstepctl nodes add NAME" : "known nodes: " + known, "node"));
        }
        if (std::find(chosen.begin(), chosen.end(), *found) == chosen.end())
            chosen.push_back(*found);
    }
    return chosen;
}

Result<CommandPrefix> prefixFor(const NodeEntry &node) {
    if (auto right = checkNode(node); !right)
        return fail(right.error());
    if (node.how == "local") {
        CommandPrefix prefix;
        if (!node.agent.empty()) {
            prefix.agent = node.agent;
            return prefix;
        }
        auto agent = findAgent();
        if (!agent)
            return fail(agent.error());
        prefix.agent = *agent;
        return prefix;
    }
    auto prefix = prefixFor(node.host, node.agent);
    if (prefix && node.how == "slurm") {
        // A new job, which waits in the queue like any other; srun passes the words on unchanged.
        prefix->words = {"srun",
                         "--quiet",
                         "--nodes=1",
                         "--ntasks=1",
                         "--time=5",
                         "--partition=" + node.partition,
                         "--nodelist=" + node.host};
        prefix->shell = false;
    }
    return prefix;
}

} // namespace lockstep::core
