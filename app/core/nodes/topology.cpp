// SPDX-License-Identifier: MIT
#include "nodes/topology.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ipc/model_facts.h"

namespace lockstep::core {
namespace {

const LinkMeasure *measured(const DoctorSnapshot &snapshot, std::size_t from, std::size_t to) {
    const auto found = std::find_if(snapshot.links.begin(), snapshot.links.end(), [&](const LinkMeasure &link) {
        return link.from == from && link.to == to && link.ok;
    });
    return found == snapshot.links.end() ? nullptr : &*found;
}

/// What a run would use before any measurement: the interface of the book, or the only physical one that is up.
InterfaceChoice assumedInterface(const NodeSnapshot &snapshot) {
    InterfaceChoice choice{snapshot.node.interface, {}, false};
    if (!snapshot.facts)
        return choice;
    std::vector<const NodeFacts::Interface *> up;
    for (const NodeFacts::Interface &one : snapshot.facts->interfaces)
        if (!one.loopback && one.state == "up" && !one.addresses.empty())
            up.push_back(&one);
    if (choice.interface.empty() && up.size() == 1)
        choice.interface = up.front()->name;
    if (const auto *found = findInterface(*snapshot.facts, choice.interface); found && !found->addresses.empty())
        choice.address = found->addresses.front();
    return choice;
}

TopologyNode nodeOf(const NodeSnapshot &snapshot, const InterfaceChoice &choice) {
    TopologyNode node;
    node.name = snapshot.node.name;
    node.host = snapshot.facts ? snapshot.facts->host : snapshot.node.host;
    node.interface = choice.interface;
    node.address = choice.address;
    node.usable = snapshot.usable();
    if (!snapshot.facts)
        return node;
    const bool gpus = !snapshot.facts->gpus.empty();
    node.deviceKind = gpus ? "cuda" : "cpu";
    node.devices = gpus ? int(snapshot.facts->gpus.size()) : snapshot.facts->allowedCoreCount;
    return node;
}

} // namespace

std::optional<double> TopologyLink::leastS() const {
    const auto time = [](double bytes, const std::optional<double> &bandwidth) -> std::optional<double> {
        if (bytes <= 0)
            return 0.0;
        if (!bandwidth || *bandwidth <= 0)
            return std::nullopt;
        return bytes / *bandwidth;
    };
    const auto there = time(bytesThere, bandwidthThereBytesS), back = time(bytesBack, bandwidthBackBytesS);
    return there && back ? std::optional(std::max(*there, *back)) : std::nullopt;
}

int Topology::worldSize() const {
    std::size_t ranks = 0;
    for (const TopologyNode &node : nodes)
        ranks += node.ranks.size();
    return int(ranks);
}

std::optional<double> Topology::leastStepS() const {
    double least = 0;
    for (const TopologyLink &link : links) {
        const auto time = link.leastS();
        if (!time)
            return std::nullopt;
        least = std::max(least, *time);
    }
    return least;
}

Topology topologyOf(const DoctorSnapshot &snapshot) {
    Topology topology;
    for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
        const bool chosen = i < snapshot.choices.size() && !snapshot.choices[i].interface.empty();
        topology.nodes.push_back(
            nodeOf(snapshot.nodes[i], chosen ? snapshot.choices[i] : assumedInterface(snapshot.nodes[i])));
    }
    for (std::size_t a = 0; a < snapshot.nodes.size(); ++a)
        for (std::size_t b = a + 1; b < snapshot.nodes.size(); ++b) {
            TopologyLink link;
            link.a = a;
            link.b = b;
            for (const LinkMeasure *way : {measured(snapshot, a, b), measured(snapshot, b, a)})
                if (way && way->roundTripS)
                    link.roundTripS = std::min(link.roundTripS.value_or(*way->roundTripS), *way->roundTripS);
            if (const LinkMeasure *there = measured(snapshot, a, b))
                link.bandwidthThereBytesS = there->bandwidthBytesS;
            if (const LinkMeasure *back = measured(snapshot, b, a))
                link.bandwidthBackBytesS = back->bandwidthBytesS;
            topology.links.push_back(link);
        }
    return topology;
}

void putOn(Topology &topology, std::string_view method, double gradientBytes, int devicesPerNode) {
    int next = 0;
    for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
        TopologyNode &node = topology.nodes[i];
        node.ranks.clear();
        for (int local = 0; node.usable && local < std::min(devicesPerNode, node.devices); ++local) {
            node.ranks.push_back({next++, local, i, node.deviceKind + ":" + std::to_string(local)});
        }
    }
    addTraffic(topology, method, gradientBytes);
}

void addTraffic(Topology &topology, std::string_view method, double gradientBytes, ServerRanks servers) {
    std::vector<TopologyFlow> flows;
    const int ranks = topology.worldSize();
    const MethodSpec *spec = findMethod(method);
    const Traffic traffic = spec ? spec->traffic : Traffic::None;
    if (ranks > 1 && traffic == Traffic::Ring)
        for (int rank = 0; rank < ranks; ++rank)
            flows.push_back({rank, (rank + 1) % ranks, 2.0 * (ranks - 1) / ranks * gradientBytes});
    if (ranks > 1 && (traffic == Traffic::Server || traffic == Traffic::Push)) {
        if (std::size_t(ranks) * std::size_t(std::max(servers.servers, 0)) * 2 > mostFlows)
            servers.servers = 0;
        const int trainers = servers.apart ? ranks - servers.servers : ranks, first = servers.apart ? trainers : 0;
        for (int server = first; server < first + servers.servers; ++server)
            for (int rank = 0; rank < trainers; ++rank)
                if (rank != server) {
                    flows.push_back({rank, server, gradientBytes / servers.servers});
                    flows.push_back({server, rank, gradientBytes / servers.servers});
                }
    }
    addFlows(topology, method, std::move(flows));
    topology.gradientBytes = gradientBytes;
}

void addFlows(Topology &topology, std::string_view method, std::vector<TopologyFlow> flows) {
    const MethodSpec *spec = findMethod(method);
    topology.method = method;
    topology.traffic = spec ? spec->traffic : Traffic::None;
    topology.flows = std::move(flows);
    std::vector<std::size_t> nodeOfRank; // ranks are numbered over all nodes
    for (const TopologyNode &node : topology.nodes)
        nodeOfRank.insert(nodeOfRank.end(), node.ranks.size(), std::size_t(&node - topology.nodes.data()));
    std::map<std::pair<std::size_t, std::size_t>, TopologyLink *> links; // by its nodes, a < b
    for (TopologyLink &link : topology.links) {
        link.bytesThere = link.bytesBack = 0;
        links.emplace(std::pair(link.a, link.b), &link);
    }
    const auto isOnNode = [&](int rank) { return rank >= 0 && std::size_t(rank) < nodeOfRank.size(); };
    for (const TopologyFlow &flow : topology.flows) {
        if (links.empty() || !isOnNode(flow.from) || !isOnNode(flow.to))
            continue;
        const std::size_t from = nodeOfRank[std::size_t(flow.from)], to = nodeOfRank[std::size_t(flow.to)];
        if (const auto link = links.find(std::pair(std::min(from, to), std::max(from, to))); link != links.end())
            (from < to ? link->second->bytesThere : link->second->bytesBack) += flow.bytes;
    }
}

std::optional<double> gradientBytesOf(std::string_view model) {
    const auto facts = modelFacts(model);
    const bool known = facts && *facts && (*facts)->parameters;
    return known ? std::optional(double(*(*facts)->parameters) * sizeof(float)) : std::nullopt;
}

std::optional<double> gradientBytesOf(const RunConfig &config) {
    return hasSizesOfFolder(config) ? std::nullopt : gradientBytesOf(config.model);
}

} // namespace lockstep::core
