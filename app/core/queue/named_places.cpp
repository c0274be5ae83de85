// SPDX-License-Identifier: MIT
#include "queue/named_places.h"

#include <set>
#include <string_view>
#include <utility>

#include "experiment/experiment.h"
#include "follow/remote_copy.h"
#include "launch/nodes_launcher.h"
#include "nodes/known_places.h"
#include "queue/queue_origin.h"

namespace lockstep::core {
namespace {

/// Each once, in the order in which they were named; this machine is none. A document names thousands of nodes.
struct Places {
    std::vector<CommandPrefix> all;
    std::set<CommandPrefix> known;
    void add(const CommandPrefix &place) {
        if (!place.local() && known.insert(place).second)
            all.push_back(place);
    }
};

} // namespace

std::vector<CommandPrefix> placesOf(const Experiment &experiment, bool ofAllNodes) {
    const Result<CommandPrefix> where = prefixFor(experiment.host, experiment.remoteAgent);
    if (!where)
        return {};
    Places places;
    places.add(*where);
    std::set<std::pair<std::string_view, std::string_view>> seen; // many entries name the same nodes
    for (const ExperimentEntry &entry : experiment.entries)
        for (const NodePlace &node : entry.planned.config.nodes) {
            if (seen.emplace(node.host, node.agent).second)
                if (const Result<CommandPrefix> place = prefixOfNode(node, *where))
                    places.add(*place);
            if (!ofAllNodes)
                break;
        }
    return std::move(places.all);
}

Result<void> rememberPlaces(const Experiment &experiment) {
    return rememberPlaces(placesOf(experiment));
}

std::vector<CommandPrefix> unknownPlacesOf(std::string_view id) {
    if (!isRunId(id))
        return {};
    Places places;
    if (const auto origin = originOf(runFolder(id)))
        places.add(*origin);
    const auto queue = queueOriginOf(id);
    if (queue)
        for (const CommandPrefix &place : placesOf(*queue))
            places.add(place);
    if (const Result<Experiment> experiment = readExperiment(id))
        for (const CommandPrefix &place : placesOf(*experiment, !queue))
            places.add(place);
    return unknownOf(std::move(places.all));
}

Result<void> checkPlacesOf(std::string_view id) {
    const std::vector<CommandPrefix> unknown = unknownPlacesOf(id);
    if (unknown.empty())
        return {};
    return fail(unknownPlaces((readExperiment(id) ? "experiment " : "run ") + std::string(id), id, unknown));
}

Result<void> acceptPlacesOf(std::string_view id) {
    return rememberPlaces(unknownPlacesOf(id));
}

} // namespace lockstep::core
