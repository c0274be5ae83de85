// SPDX-License-Identifier: MIT
#include "models/run_traffic.h"

#include <map>

#include "models/run_topology.h"

namespace lockstep::core {
namespace {

/// Between the ranks of a run on however many nodes.
std::vector<TopologyFlow> flowsOf(const RunStore &run) {
    if (hasSeveralNodes(run))
        return topologyOf(run).flows;
    Topology alone;
    TopologyNode &node = alone.nodes.emplace_back();
    for (const auto &[rank, info] : run.ranks().all())
        node.ranks.push_back({rank, rank, 0, info.device});
    addTrafficOf(run, alone);
    return alone.flows;
}

} // namespace

std::vector<RankTraffic> trafficOf(const RunStore &run) {
    const std::map<int, double> counted = run.metrics().ofRanks("sent_mb");
    std::vector<RankTraffic> out;
    if (counted.size() < 2 || !run.record() || !run.record()->config)
        return out;
    const std::vector<TopologyFlow> flows = flowsOf(run);
    const bool byFormula = sendsGradients(specOf(run.record()->config->method).traffic);
    std::map<int, std::size_t> places; // in out
    for (const auto &[rank, megabytes] : counted) {
        places.emplace(rank, out.size());
        out.push_back({rank, megabytes * 1e6, {}, {}});
    }
    for (const TopologyFlow &flow : flows)
        if (const auto place = places.find(flow.from); place != places.end() && flow.bytes > 0) {
            RankTraffic &one = out[place->second];
            one.flows.push_back(flow);
            if (byFormula)
                one.formula = one.formula.value_or(0) + flow.bytes;
        }
    return out;
}

} // namespace lockstep::core
