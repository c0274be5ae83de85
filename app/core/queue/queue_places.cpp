// SPDX-License-Identifier: MIT
#include "queue/queue_places.h"

#include <algorithm>

namespace lockstep::core {

Result<std::vector<NodePlace>> placesSeenFrom(const std::string &host, std::vector<NodePlace> places) {
    for (NodePlace &place : places) {
        if (place.host.empty())
            return fail(Error::badArgument(
                "this machine is one of the run's nodes, so it can't be switched off while " + host + " runs the queue",
                "remove it from the nodes, or keep the queue here: omit --queue-on", "--queue-on"));
        if (place.host == host)
            place.host.clear();
    }
    return places;
}

tl::expected<QueuedRecipe, std::vector<Error>> recipeSeenFrom(const std::string &host, QueuedRecipe here) {
    std::vector<Error> errors;
    const auto note = [&](const Error &error) {
        if (std::none_of(errors.begin(), errors.end(),
                         [&](const Error &one) { return one.message() == error.message(); }))
            errors.push_back(error);
    };
    const bool replaced =
        std::any_of(here.set.begin(), here.set.end(), [](const auto &pair) { return pair.first == "nodes"; });
    for (RunSpec &run : here.recipe.runs) {
        if (replaced) { // they are never used
            run.config.nodes.clear();
            continue;
        }
        auto seen = placesSeenFrom(host, run.config.nodes);
        seen ? void(run.config.nodes = std::move(*seen)) : note(seen.error());
    }
    for (auto &[key, value] : here.set) {
        if (key != "nodes")
            continue;
        const auto places = nodesFromText(value);
        const auto seen = places ? placesSeenFrom(host, *places) : fail(places.error());
        seen ? void(value = toText(*seen)) : note(seen.error());
    }
    if (!errors.empty())
        return tl::unexpected(errors);
    return here;
}

std::vector<std::pair<std::string, std::string>> otherHosts(const std::vector<RunConfig> &configs) {
    std::vector<std::pair<std::string, std::string>> out;
    for (const RunConfig &config : configs)
        for (const NodePlace &place : config.nodes)
            if (const std::pair<std::string, std::string> one(place.host, place.agent);
                !place.host.empty() && std::find(out.begin(), out.end(), one) == out.end())
                out.push_back(one);
    return out;
}

} // namespace lockstep::core
