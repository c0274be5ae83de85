// SPDX-License-Identifier: MIT
#include "models/run_topology.h"

#include <algorithm>
#include <map>

#include <QStringList>

#include "models/cells.h"
#include "nodes/torch_line.h"
#include "store/recent_data.h"

namespace lockstep::core {
namespace {

using Machines = std::multimap<int, const MachineRecord *>; ///< by node

std::string addressOf(const Machines &machines, std::size_t node, const NodePlace &place) {
    if (!place.address.empty())
        return place.address;
    for (auto [machine, end] = machines.equal_range(int(node)); machine != end; ++machine)
        for (const auto &[name, address] : machine->second->interfaces)
            if (name == place.interface)
                return address;
    return {};
}

TopologyNode nodeOf(const RunStore &run, const Machines &machines, std::size_t at, int firstRank, int processes) {
    const RunConfig &config = *run.record()->config;
    const NodePlace &place = config.nodes[at];
    TopologyNode node;
    node.name = titleOf(place);
    for (auto [machine, end] = machines.equal_range(int(at)); machine != end; ++machine)
        if (!machine->second->host.empty())
            node.host = machine->second->host;
    if (place.host.empty() && !node.host.empty())
        node.name = node.host;
    node.interface = place.interface;
    node.address = addressOf(machines, at, place);
    node.deviceKind = place.device.empty() ? config.device : place.device;
    node.devices = int(place.devices.size());
    node.usable = true;
    for (int local = 0; local < processes; ++local) {
        const auto heard = run.ranks().all().find(firstRank + local);
        std::string device = heard == run.ranks().all().end() ? std::string() : heard->second.device;
        if (device.empty() && std::size_t(local) < place.devices.size())
            device = node.deviceKind + ":" + place.devices[std::size_t(local)];
        node.ranks.push_back({firstRank + local, local, at, device});
    }
    const auto link = run.links().all().find(int(at));
    node.heard = whyNoRecentData(run).isEmpty() &&
                 (link == run.links().all().end() || link->second.up || link->second.ended || run.over());
    return node;
}

/// Of one pipeline, from what the kernel counted each rank send: the first stage sends only its output. What each further one sends is
/// the gradient of the output that it got, which is as large, and its own output.
std::vector<TopologyFlow> stageFlows(const RunStore &run, const RunConfig &config) {
    const std::map<int, double> sent = run.metrics().ofRanks("sent_mb");
    const int ranks = deviceCount(config);
    const bool allCounted = int(sent.size()) == ranks && sent.begin()->first == 0 && sent.rbegin()->first == ranks - 1;
    if (!allCounted || stageCount(config, ranks) != ranks)
        return {};
    std::vector<TopologyFlow> flows;
    double output = 0; // of the stage before
    for (const auto &[rank, megabytes] : sent) {
        if (rank > 0)
            flows.push_back({rank, rank - 1, output});
        output = megabytes * 1e6 - output;
        if (output < 0)
            return {};
        if (rank + 1 < ranks)
            flows.push_back({rank, rank + 1, output});
    }
    return flows;
}

} // namespace

bool hasSeveralNodes(const RunStore &run) {
    return run.record() && run.record()->config && run.record()->config->nodes.size() > 1;
}

Topology topologyOf(const RunStore &run) {
    Topology topology;
    if (!hasSeveralNodes(run))
        return topology;
    const RunConfig &config = *run.record()->config;
    const std::vector<int> processes = processesOfNodes(config), first = firstRanks(processes);
    Machines machines;
    for (const MachineRecord &machine : run.record()->machines)
        machines.emplace(machine.node, &machine);
    for (std::size_t i = 0; i < config.nodes.size(); ++i)
        topology.nodes.push_back(nodeOf(run, machines, i, first[i], processes[i]));
    const std::size_t linked = topology.isDrawable() ? topology.nodes.size() : 1;
    for (std::size_t a = 0; a < linked; ++a)
        for (std::size_t b = a + 1; b < topology.nodes.size(); ++b) {
            TopologyLink link;
            link.a = a;
            link.b = b;
            const auto reported = a == 0 ? run.links().all().find(int(b)) : run.links().all().end();
            if (reported != run.links().all().end() && whyNoRecentData(run).isEmpty()) {
                link.state = reported->second.ended || run.over() ? TopologyLink::State::Ended
                             : reported->second.up                ? TopologyLink::State::Up
                                                                  : TopologyLink::State::Lost;
                link.sentence = sentenceOf(reported->second);
                link.roundTripS = reported->second.roundTripS;
            }
            topology.links.push_back(link);
        }
    addTrafficOf(run, topology);
    return topology;
}

void addTrafficOf(const RunStore &run, Topology &topology) {
    const RunConfig &config = *run.record()->config;
    if (specOf(config.method).traffic == Traffic::Stages)
        return addFlows(topology, toString(config.method), stageFlows(run, config));
    const bool isKnown = run.record()->claims.knows("model"); // else it is a script's own
    const double numbers = isKnown ? gradientBytesOf(config).value_or(0) / sizeof(float) : 0;
    addTraffic(topology, toString(config.method), numbers * sentNumberBytes(config),
               hasServingDevices(config) ? ServerRanks{config.serverDevices, true} : ServerRanks{config.servers});
}

QString linksLine(const RunStore &run) {
    if (!hasSeveralNodes(run) || run.links().all().empty())
        return {};
    if (run.over())
        return QStringLiteral("Links: ended with the run");
    if (const QString why = whyNoRecentData(run); !why.isEmpty())
        return QStringLiteral("Links: unknown, ") + why;
    return QStringLiteral("Links: ") + (linkToNodeLost(run) ? run.links().sentence() : QStringLiteral("all up"));
}

QString torchSentence(const RunRecord &record) {
    std::map<std::string, QStringList> hosts;
    bool anyKnown = false;
    for (const MachineRecord &machine : record.machines) {
        anyKnown = anyKnown || !machine.torchVersion.empty();
        hosts[machine.torchVersion.empty() ? "an unknown version" : machine.torchVersion] << qs(machine.host);
    }
    if (!anyKnown)
        return {};
    QStringList parts;
    for (const auto &[version, names] : hosts)
        parts << qs(version) + QStringLiteral(" on ") +
                     (hosts.size() == 1 && names.size() > 1 ? QStringLiteral("all nodes")
                                                            : names.join(QStringLiteral(", ")));
    const QString text = QStringLiteral("PyTorch ") + parts.join(QStringLiteral("; "));
    const TorchLine *line = hosts.size() == 1 ? lineOf(hosts.begin()->first) : nullptr;
    // The book's reason is about the line that a sync chose: valid only if the run used that line.
    const QString head = line ? qs(titleOf(*line)) + QStringLiteral(": ") : QString();
    const QString reason = qs(record.torchReason);
    return !head.isEmpty() && reason.startsWith(head) ? text + QStringLiteral(": ") + reason.mid(head.size()) : text;
}

QString runLine(const RunStore &run) {
    return QStringLiteral("Run: ") +
           (whyNoRecentData(run).isEmpty() ? run.lifecycle().sentence() : QStringLiteral("state unknown"));
}

} // namespace lockstep::core
