// SPDX-License-Identifier: MIT
#include "ipc/placement.h"
#include "ipc/backend_rule.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "ipc/backend_rule.h"
#include "ipc/run_config.h"

namespace lockstep {

namespace {

constexpr std::string_view hex = "0123456789ABCDEF";

bool mustBeWritten(char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == ';' || c == '%' || c == 0x7f;
}

std::string written(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (mustBeWritten(c)) {
            const auto byte = static_cast<unsigned char>(c);
            out += {'%', hex[byte >> 4], hex[byte & 15]};
        } else {
            out += c;
        }
    }
    return out;
}

Result<std::string> unwritten(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        unsigned byte = 0;
        const char *from = text.data() + i + 1;
        if (i + 2 >= text.size() || std::from_chars(from, from + 2, byte, 16).ptr != from + 2)
            return fail(Error::badArgument("a % without two hexadecimal digits", "write % itself as %25"));
        if (byte < 0x20 || byte == 0x7f)
            return fail(Error::badArgument("a control character", "leave it out"));
        out += static_cast<char>(byte);
        i += 2;
    }
    return out;
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t end = std::min(text.find(at, from), text.size());
        parts.push_back(text.substr(from, end - from));
        from = end + 1;
    }
    return parts;
}

bool isHost(std::string_view host) {
    constexpr std::string_view others = "._-@:[]%";
    return !host.starts_with('-') && std::all_of(host.begin(), host.end(), [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               others.find(c) != std::string_view::npos;
    });
}

bool isInterface(std::string_view name) {
    return !name.empty() && name.size() <= 15 && name.find_first_of("/ \t:,") == std::string_view::npos;
}

Result<std::vector<std::string>> devicesFrom(std::string_view text) {
    RunConfig scratch;
    if (auto read = findField("devices")->set(scratch, text); !read)
        return fail(read.error());
    return scratch.devices;
}

/// HOST[%INTERFACE]:DEVICES
Result<void> readPlace(std::string_view text, NodePlace &node) {
    std::size_t from = 0;
    // The colons of an IPv6 address in brackets are skipped.
    if (const auto bracket = text.find('['); bracket < text.find(':'))
        from = std::min(text.find(']', bracket), text.size());
    const std::size_t colon = text.find(':', from), percent = text.substr(0, colon).find('%', from);
    if (colon == std::string_view::npos)
        return fail(Error::badArgument("it names no devices", "write them after ':', like hostA%eth0:0,1"));
    const std::string_view host = text.substr(0, std::min(percent, colon));
    if (!isHost(host))
        return fail(Error::badArgument("its host holds more than letters, digits and ._-@[], or begins with '-'",
                                       "give a host as ssh knows it"));
    node.host = host == "." ? std::string_view() : host;
    if (percent != std::string_view::npos) {
        const std::string_view interface = text.substr(percent + 1, colon - percent - 1);
        if (!isInterface(interface))
            return fail(Error::badArgument("\"" + std::string(interface) + "\" is no network interface's name",
                                           "give a name that `ip link` lists, like eth0"));
        node.interface = interface;
    }
    auto devices = devicesFrom(text.substr(colon + 1));
    if (!devices)
        return fail(Error::badArgument("its devices: " + devices.error().what, devices.error().wayOut));
    node.devices = std::move(*devices);
    return {};
}

Result<void> readOption(std::string_view text, NodePlace &node) {
    const std::size_t equals = text.find('=');
    const std::string_view key = text.substr(0, equals);
    auto value = unwritten(equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1));
    if (!value)
        return fail(
            Error::badArgument("its option " + std::string(key) + " has " + value.error().what, value.error().wayOut));
    if (value->empty())
        return fail(Error::badArgument("its option \"" + std::string(key) + "\" has no value", "write KEY=VALUE"));
    if (key == "kind") {
        if (*value != "cpu" && *value != "cuda")
            return fail(Error::badArgument("its kind \"" + *value + "\" is not known", "give cpu or cuda"));
        node.device = *value;
    } else if (key == "cores") {
        int cores = 0;
        const char *end = value->data() + value->size();
        if (std::from_chars(value->data(), end, cores).ptr != end || cores < 1 || cores > 4096)
            return fail(
                Error::badArgument("its cores \"" + *value + "\" are not a number from 1 on", "give 1 to 4096"));
        node.coresPerDevice = cores;
    } else if (key == "agent") {
        node.agent = *value;
    } else if (key == "address") {
        node.address = *value;
    } else if (key == "data") {
        node.dataDir = *value;
    } else {
        return fail(Error::badArgument("its option \"" + std::string(key) + "\" is not known",
                                       "use kind, cores, data, agent or address"));
    }
    return {};
}

Result<NodePlace> nodeFrom(std::string_view text) {
    NodePlace node;
    bool first = true;
    for (const std::string_view word : split(text, ' ')) {
        if (word.empty())
            continue;
        if (auto read = first ? readPlace(word, node) : readOption(word, node); !read)
            return fail(read.error());
        first = false;
    }
    if (first)
        return fail(Error::badArgument("it is empty", "write it like hostA%eth0:0,1"));
    return node;
}

std::string shown(std::string_view text) {
    std::string out(text.substr(0, 60));
    for (char &c : out)
        if (static_cast<unsigned char>(c) < 0x20)
            c = '?';
    return out;
}

std::string numberOf(std::size_t index) {
    return "node " + std::to_string(index);
}

} // namespace

std::string toText(const std::vector<NodePlace> &nodes) {
    std::string text;
    for (const NodePlace &node : nodes) {
        text += (text.empty() ? "" : ";") + (node.host.empty() ? "." : node.host);
        if (!node.interface.empty())
            text += "%" + node.interface;
        for (std::size_t i = 0; i < node.devices.size(); ++i)
            text += (i == 0 ? ":" : ",") + node.devices[i];
        const auto option = [&](const char *key, const std::string &value) {
            if (!value.empty())
                text += std::string(" ") + key + "=" + written(value);
        };
        option("kind", node.device);
        option("cores", node.coresPerDevice > 0 ? std::to_string(node.coresPerDevice) : "");
        option("data", node.dataDir);
        option("agent", node.agent);
        option("address", node.address);
    }
    return text;
}

Result<std::vector<NodePlace>> nodesFromText(std::string_view text) {
    std::vector<NodePlace> nodes;
    std::size_t devices = 0;
    if (text.find_first_not_of(' ') == std::string_view::npos)
        return nodes;
    const std::vector<std::string_view> parts = split(text, ';');
    if (parts.size() > std::size_t(mostNodes))
        return fail(Error::badArgument(std::to_string(parts.size()) + " nodes are given, and a run has at most " +
                                           std::to_string(mostNodes),
                                       "name fewer nodes"));
    for (const std::string_view part : parts) {
        auto node = nodeFrom(part);
        if (!node)
            return fail(Error::badArgument(numberOf(nodes.size()) + " \"" + shown(part) +
                                               "\" can't be used: " + node.error().what,
                                           node.error().wayOut));
        if ((devices += node->devices.size()) > mostDevicesOfRun)
            return fail(Error::badArgument("the first " + std::to_string(nodes.size() + 1) + " nodes have " +
                                               std::to_string(devices) + " devices, and a run has at most " +
                                               std::to_string(mostDevicesOfRun),
                                           "name fewer devices"));
        nodes.push_back(std::move(*node));
    }
    return nodes;
}

std::vector<NodePlace> firstDevices(const std::vector<NodePlace> &nodes, int count) {
    std::vector<NodePlace> out;
    for (NodePlace node : nodes) {
        if (count <= 0)
            break;
        node.devices.resize(std::min(node.devices.size(), static_cast<std::size_t>(count)));
        count -= static_cast<int>(node.devices.size());
        out.push_back(std::move(node));
    }
    return out;
}

std::string placesOf(const std::vector<NodePlace> &nodes) {
    std::vector<NodePlace> places;
    for (const NodePlace &node : nodes)
        places.push_back({node.host, node.interface, node.devices, node.device, node.coresPerDevice, {}, {}, {}});
    return toText(places);
}

int nodeCount(const RunConfig &config) {
    return std::max(1, static_cast<int>(config.nodes.size()));
}

std::vector<int> processesOfNodes(const RunConfig &config) {
    const bool each = isDistributed(config.method);
    if (config.nodes.empty())
        return {each ? static_cast<int>(config.devices.size()) : 1};
    std::vector<int> processes;
    for (const NodePlace &node : config.nodes)
        processes.push_back(each ? static_cast<int>(node.devices.size()) : 1);
    return processes;
}

std::vector<int> firstRanks(std::span<const int> processes) {
    std::vector<int> first;
    int sum = 0;
    for (const int count : processes) {
        first.push_back(sum);
        sum += count;
    }
    return first;
}

RunConfig configOfNode(const RunConfig &config, int node) {
    RunConfig own = config;
    if (node < 0 || node >= static_cast<int>(config.nodes.size()))
        return own;
    const NodePlace &place = config.nodes[static_cast<std::size_t>(node)];
    own.devices = place.devices;
    own.interface = place.interface;
    if (!place.device.empty())
        own.device = place.device;
    if (place.coresPerDevice > 0)
        own.coresPerDevice = place.coresPerDevice;
    if (!place.dataDir.empty())
        own.dataDir = place.dataDir;
    if (const BackendRule rule = backendInEffect(config); rule.reason == BackendReason::SomeCpuDevices)
        own.backend = rule.name; // the ranks of this node alone could not derive it
    return own;
}

std::vector<Error> checkNodes(const RunConfig &config) {
    std::vector<Error> errors;
    const auto mistake = [&](std::string what, std::string wayOut, const char *key = "nodes") {
        errors.push_back(Error::badArgument(std::move(what), std::move(wayOut), key));
    };
    std::set<std::string> kinds, hosts;
    for (const NodePlace &node : config.nodes) {
        kinds.insert(node.device.empty() ? config.device : node.device);
        hosts.insert(node.host);
    }
    const std::size_t count = config.nodes.size();
    const MethodSpec &method = specOf(config.method);
    if (count > 1 && hasReplicas(method))
        mistake(std::string(method.name) + " is one process with a thread a device, so it can't reach over " +
                    std::to_string(count) + " nodes",
                "use the method ddp, or the devices of one node", "method");
    if (kinds.contains("cpu") && config.backend == "nccl")
        mistake("nccl needs GPUs on every node, and some nodes train on cpu", "use gloo or auto", "backend");
    for (std::size_t i = 0; i < count; ++i) {
        const NodePlace &node = config.nodes[i];
        const std::string who = numberOf(i) + " (" + titleOf(node) + ")";
        if (node.devices.empty())
            mistake(who + " has no device", "give it one, or leave the node out");
        if (!isHost(node.host))
            mistake("the host of " + numberOf(i) + " holds more than letters, digits and ._-@:[]%",
                    "give a host as ssh knows it");
        if (!node.interface.empty() && !isInterface(node.interface))
            mistake(who + " has an invalid name for its network interface",
                    "give a name that `ip link` lists, like eth0");
        if (count > 1 && hosts.size() > 1 && node.interface.empty())
            mistake(who + " names no network interface, and over loopback no other host reaches it",
                    "write " + (node.host.empty() ? "." : node.host) + "%INTERFACE:…; lockstepctl doctor finds it");
        std::set<std::string> seen;
        for (const std::string &device : node.devices)
            if (!seen.insert(device).second && !config.oversubscribe)
                mistake("device " + device + " of " + who + " is given twice",
                        "give each device once, or oversubscribe for a test");
    }
    return errors;
}

void takeFirstDevices(RunConfig &config, int ranks) {
    if (ranks > 1 && config.devices == RunConfig().devices)
        takeDevicesOfAll(config, ranks);
}

void takeDevicesOfAll(RunConfig &config, int ranks) {
    if (!isDistributed(config.method) || !config.nodes.empty() || deviceCount(config) == ranks)
        return;
    config.devices.clear();
    for (int i = 0; i < ranks; ++i)
        config.devices.push_back(std::to_string(i));
}

std::string titleOf(const NodePlace &place) {
    return place.host.empty() ? "this machine" : place.host;
}

} // namespace lockstep
