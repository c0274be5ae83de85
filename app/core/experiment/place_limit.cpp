// SPDX-License-Identifier: MIT
#include "experiment/place_limit.h"

namespace lockstep::core {

std::size_t placeCount(const RunConfig &config) {
    std::size_t count = config.devices.size() + config.nodes.size();
    for (const NodePlace &node : config.nodes)
        count += node.devices.size();
    return count;
}

Result<void> roomForPlaces(std::size_t places, const std::string &whose) {
    if (places <= mostPlaces)
        return {};
    return fail(Error::badArgument(whose + " name " + std::to_string(places) + " nodes and devices, more than the " +
                                       std::to_string(mostPlaces) + " that a recipe or an experiment can name",
                                   "use fewer runs, repeats or nodes, or split it"));
}

} // namespace lockstep::core
