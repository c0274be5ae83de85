// SPDX-License-Identifier: MIT
#include "queue/named_places.h"

#include <algorithm>

#include "experiment/experiment.h"
#include "follow/remote_copy.h"
#include "launch/nodes_launcher.h"
#include "nodes/known_places.h"
#include "queue/queue_origin.h"

namespace lockstep::core {
namespace {

void addOnce(std::vector<CommandPrefix> &places, const CommandPrefix &place) {
    if (!place.local() && std::ranges::find(places, place) == places.end())
        places.push_back(place);
}

} // namespace

std::vector<CommandPrefix> placesOf(const Experiment &experiment, bool ofAllNodes) {
    std::vector<CommandPrefix> places;
    const Result<CommandPrefix> where = prefixFor(experiment.host, experiment.remoteAgent);
    if (!where)
        return places;
    addOnce(places, *where);
    for (const ExperimentEntry &entry : experiment.entries)
        for (const NodePlace &node : entry.planned.config.nodes) {
            if (const Result<CommandPrefix> place = prefixOfNode(node, *where))
                addOnce(places, *place);
            if (!ofAllNodes)
                break;
        }
    return places;
}

Result<void> rememberPlaces(const Experiment &experiment) {
    return rememberPlaces(placesOf(experiment));
}

std::vector<CommandPrefix> unknownPlacesOf(std::string_view id) {
    std::vector<CommandPrefix> places;
    if (!isRunId(id))
        return places;
    if (const auto origin = originOf(runFolder(id)))
        addOnce(places, *origin);
    const auto queue = queueOriginOf(id);
    if (queue)
        for (const CommandPrefix &place : placesOf(*queue))
            addOnce(places, place);
    if (const Result<Experiment> experiment = readExperiment(id))
        for (const CommandPrefix &place : placesOf(*experiment, !queue))
            addOnce(places, place);
    std::erase_if(places, isKnownPlace);
    return places;
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
