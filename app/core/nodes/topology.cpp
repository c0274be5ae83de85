// SPDX-License-Identifier: MIT
#include "nodes/topology.h"

#include <algorithm>

#include "ipc/models.h"

namespace lockstep::core {
namespace {

const LinkMeasure *measured(const DoctorLook &look, std::size_t from, std::size_t to) {
    const auto found = std::find_if(look.links.begin(), look.links.end(), [&](const LinkMeasure &link) {
        return link.from == from && link.to == to && link.ok;
    });
    return found == look.links.end() ? nullptr : &*found;
}

/// What a run would use before any measurement: the interface of the book, or the only physical one that is up.
InterfaceChoice assumedInterface(const NodeLook &look) {
    InterfaceChoice choice{look.node.interface, {}, false};
    if (!look.facts)
        return choice;
    std::vector<const NodeFacts::Interface *> up;
    for (const NodeFacts::Interface &one : look.facts->interfaces)
        if (!one.loopback && one.state == "up" && !one.addresses.empty())
            up.push_back(&one);
    if (choice.interface.empty() && up.size() == 1)
        choice.interface = up.front()->name;
    if (const auto *found = findInterface(*look.facts, choice.interface); found && !found->addresses.empty())
        choice.address = found->addresses.front();
    return choice;
}

TopologyNode nodeOf(const NodeLook &look, const InterfaceChoice &choice) {
    TopologyNode node;
    node.name = look.node.name;
    node.host = look.facts ? look.facts->host : look.node.host;
    node.interface = choice.interface;
    node.address = choice.address;
    node.usable = look.usable();
    if (!look.facts)
        return node;
    const bool gpus = !look.facts->gpus.empty();
    node.deviceKind = gpus ? "cuda" : "cpu";
    node.devices = gpus ? int(look.facts->gpus.size()) : look.facts->allowedCoreCount;
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

Topology topologyOf(const DoctorLook &look) {
    Topology topology;
    for (std::size_t i = 0; i < look.nodes.size(); ++i) {
        const bool chosen = i < look.choices.size() && !look.choices[i].interface.empty();
        topology.nodes.push_back(nodeOf(look.nodes[i], chosen ? look.choices[i] : assumedInterface(look.nodes[i])));
    }
    for (std::size_t a = 0; a < look.nodes.size(); ++a)
        for (std::size_t b = a + 1; b < look.nodes.size(); ++b) {
            TopologyLink link;
            link.a = a;
            link.b = b;
            for (const LinkMeasure *way : {measured(look, a, b), measured(look, b, a)})
                if (way && way->roundTripS)
                    link.roundTripS = std::min(link.roundTripS.value_or(*way->roundTripS), *way->roundTripS);
            if (const LinkMeasure *there = measured(look, a, b))
                link.bandwidthThereBytesS = there->bandwidthBytesS;
            if (const LinkMeasure *back = measured(look, b, a))
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

void addTraffic(Topology &topology, std::string_view method, double gradientBytes) {
    topology.method = method;
    topology.gradientBytes = gradientBytes;
    topology.flows.clear();
    std::vector<std::size_t> nodeOfRank; // ranks are numbered over all nodes
    for (const TopologyNode &node : topology.nodes)
        nodeOfRank.insert(nodeOfRank.end(), node.ranks.size(), std::size_t(&node - topology.nodes.data()));
    const int ranks = int(nodeOfRank.size());
    const MethodSpec *spec = findMethod(method);
    topology.traffic = spec ? spec->traffic : Traffic::None;
    if (ranks > 1 && topology.traffic == Traffic::Ring)
        for (int rank = 0; rank < ranks; ++rank)
            topology.flows.push_back({rank, (rank + 1) % ranks, 2.0 * (ranks - 1) / ranks * gradientBytes});
    if (ranks > 1 && topology.traffic == Traffic::Server)
        for (int rank = 1; rank < ranks; ++rank) {
            topology.flows.push_back({rank, 0, gradientBytes});
            topology.flows.push_back({0, rank, gradientBytes});
        }
    for (TopologyLink &link : topology.links) {
        link.bytesThere = link.bytesBack = 0;
        for (const TopologyFlow &flow : topology.flows) {
            const std::size_t from = nodeOfRank[std::size_t(flow.from)], to = nodeOfRank[std::size_t(flow.to)];
            if (from == link.a && to == link.b)
                link.bytesThere += flow.bytes;
            else if (from == link.b && to == link.a)
                link.bytesBack += flow.bytes;
        }
    }
}

std::optional<double> gradientBytesOf(std::string_view model) {
    const ModelSpec *found = findModel(model);
    return found ? std::optional(double(found->parameters) * sizeof(float)) : std::nullopt;
}

} // namespace lockstep::core
