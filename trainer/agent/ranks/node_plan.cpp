// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/node_plan.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/name_lookup.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/ranks/master_port.h"
#include "trainer/agent/ranks/rank_process.h"

namespace lockstep::agent {

namespace {

constexpr std::string_view nodePrefix = "node"; ///< of a device's name among several nodes

std::chrono::milliseconds inMilliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// LOCKSTEP_JOIN_TOKEN, which ranks need not see, else the token file; empty: none was given.
Result<std::string> tokenOf(const CommandOptions &options) {
    if (const char *named = ::getenv("LOCKSTEP_JOIN_TOKEN"); named && *named) {
        std::string token = named;
        ::unsetenv("LOCKSTEP_JOIN_TOKEN");
        return token;
    }
    if (options.tokenFile.empty())
        return std::string();
    auto text = realFileSystem().readAll(options.tokenFile);
    if (!text)
        return fail(Error::badArgument("the token can't be read: " + text.error().message(), "check --token-file"));
    text->erase(text->find_last_not_of(" \n\r\t") + 1);
    if (text->empty())
        return fail(Error::badArgument("the token file " + options.tokenFile + " is empty", "write a token into it"));
    return *text;
}

/// Whether agent 0's address and token are known; what was not given is read from join.json in the run's folder.
bool known(NodesPlan &nodes, const std::string &run) {
    if (!nodes.join.empty() && !nodes.token.empty())
        return true;
    const auto text = realFileSystem().readAll(runFolder(run).join());
    const auto json = text ? documents::objectOrNull(*text) : documents::Json();
    const auto take = [&](const char *key, std::string &value) {
        if (value.empty())
            value = documents::valueIn(json, key, "");
    };
    take("join", nodes.join);
    take("token", nodes.token);
    return !nodes.join.empty() && !nodes.token.empty();
}

bool listens(const NetAddress &address) {
    const Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{1, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return ::connect(fd.get(), address.get(), address.length) == 0;
}

/// The host's addresses. None: its name is not known yet, or there are none.
std::vector<NetAddress> addressesNow(NameLookup &host) {
    const auto found = host.take(std::chrono::steady_clock::now());
    return found && *found ? **found : std::vector<NetAddress>();
}

/// Why no more is waited for agent 0, after `pause`, which a signal cuts short.
std::optional<Error> endOfWaiting(const NodesPlan &nodes, std::chrono::steady_clock::time_point until,
                                  const timespec &pause) {
    if (std::chrono::steady_clock::now() > until)
        return Error::failed("agent 0 did not listen" + (nodes.join.empty() ? "" : " at " + nodes.join) + " within " +
                                 std::to_string(nodes.joinLimit.count() / 1000) + " s",
                             "check that node 0 is started with the same --run-id, and give --join or a folder "
                             "for runs that all nodes see");
    const sigset_t signals = endingSignals();
    if (const int signal = ::sigtimedwait(&signals, nullptr, &pause); signal > 0)
        return Error::failed("stopped by signal " + std::to_string(signal) + " before agent 0 listened");
    return std::nullopt;
}

} // namespace

NodesPlan nodesOf(const RunConfig &config, int node) {
    NodesPlan plan;
    plan.count = nodeCount(config);
    plan.node = node;
    plan.processes = processesOfNodes(config);
    for (std::size_t i = 1; i < config.nodes.size(); ++i)
        plan.titles.push_back(titleOf(config.nodes[i]));
    return plan;
}

Result<void> joinByOptions(LaunchPlan &plan, const CommandOptions &options) {
    NodesPlan &nodes = plan.nodes;
    nodes.count = options.nodes;
    nodes.node = options.nodeRank;
    nodes.joinLimit = inMilliseconds(options.joinLimitS);
    nodes.lease = inMilliseconds(options.leaseS);
    while (static_cast<int>(nodes.titles.size()) < options.nodes - 1)
        nodes.titles.push_back("node " + std::to_string(nodes.titles.size() + 1));
    auto token = tokenOf(options);
    if (!token)
        return fail(token.error());
    nodes.token = *token;
    plan.master.bindHere = options.nodeRank == 0;
    if (!options.interface.empty()) {
        auto address = addressOfInterface(options.interface);
        if (!address)
            return fail(address.error());
        nodes.listenAddress = plan.master.address = *address;
        for (RankPlan &rank : plan.ranks)
            nameInterface(options.interface, rank.environment);
    }
    if (options.nodeRank > 0) {
        nodes.join = options.join;
        return {};
    }
    if (const auto colon = options.join.rfind(':'); colon != std::string::npos) {
        std::string host = options.join.substr(0, colon);
        if (host.starts_with('[') && host.ends_with(']'))
            host = host.substr(1, host.size() - 2);
        nodes.listenAddress = host;
        if (options.interface.empty())
            plan.master.address = host;
        nodes.listenPort = std::atoi(options.join.c_str() + colon + 1);
    }
    return {};
}

Result<bool> somebodyListens(const std::vector<NetAddress> &addresses,
                             const std::function<std::optional<Error>()> &ended) {
    for (const NetAddress &address : addresses) {
        if (listens(address))
            return true;
        if (const std::optional<Error> why = ended())
            return fail(*why);
    }
    return false;
}

Result<void> waitForAgent0(LaunchPlan &plan) {
    NodesPlan &nodes = plan.nodes;
    const auto until = std::chrono::steady_clock::now() + nodes.joinLimit;
    std::optional<NameLookup> node0;
    for (;;) {
        if (!node0 && known(nodes, plan.record.run))
            node0.emplace(nodes.join);
        const auto there = somebodyListens(node0 ? addressesNow(*node0) : std::vector<NetAddress>(),
                                           [&] { return endOfWaiting(nodes, until, timespec{}); });
        if (!there)
            return fail(there.error());
        if (*there)
            return {};
        if (const std::optional<Error> why = endOfWaiting(nodes, until, timespec{0, 50'000'000}))
            return fail(*why);
    }
}

void placeRanks(LaunchPlan &plan, int firstRank, int worldSize) {
    const int before = plan.ranks.empty() ? 0 : plan.ranks.front().rank;
    plan.worldSize = worldSize;
    for (DevicePlan &device : plan.devices)
        if (device.rank)
            *device.rank += firstRank - before;
    for (RankPlan &rank : plan.ranks) {
        rank.rank = firstRank + rank.localRank;
        for (auto &[name, value] : rank.environment) {
            if (name == "RANK")
                value = std::to_string(rank.rank);
            if (name == "WORLD_SIZE")
                value = std::to_string(worldSize);
        }
    }
}

std::string nameApart(const std::string &device, int node) {
    const bool plain = device.starts_with("cpu:") || device.starts_with("cuda:");
    return plain ? std::string(nodePrefix) + std::to_string(node) + "/" + device : device;
}

std::optional<int> nodeInName(const std::string &device) {
    const std::size_t slash = device.find('/');
    if (!device.starts_with(nodePrefix) || slash == std::string::npos)
        return std::nullopt;
    int node = 0;
    const char *end = device.data() + slash;
    const auto read = std::from_chars(device.data() + nodePrefix.size(), end, node);
    return read.ec == std::errc() && read.ptr == end ? std::optional(node) : std::nullopt;
}

std::string localName(const std::string &device) {
    const auto slash = device.find('/');
    return device.starts_with(nodePrefix) && slash != std::string::npos ? device.substr(slash + 1) : device;
}

void nameInterface(const std::string &interface, std::vector<std::pair<std::string, std::string>> &environment) {
    if (interface.empty())
        return;
    environment.emplace_back("GLOO_SOCKET_IFNAME", interface);
    environment.emplace_back("NCCL_SOCKET_IFNAME",
                             "=" + interface); // "=": exactly this name, not every name that begins like it
}

} // namespace lockstep::agent
