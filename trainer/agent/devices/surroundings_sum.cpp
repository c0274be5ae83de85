// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/surroundings_sum.h"

#include <algorithm>
#include <utility>

#include "ipc/json_writer.h"
#include "ipc/printable.h"
#include "ipc/sound_values.h"

namespace lockstep::agent {

namespace {

double shareOf(std::optional<double> seconds, const Surroundings &around) {
    return seconds.value_or(0) / around.measuredS;
}

/// What of a node's cores others took beyond those that had no rank; of nodes that are alike in this, the whole load.
std::pair<double, double> loadOn(const Surroundings &around) {
    const double other = shareOf(around.otherCpuS, around), stolen = shareOf(around.stolenS, around);
    return {std::max(0.0, other - std::max(0, around.freeCores.value_or(0))) + stolen, other + stolen};
}

void addReasons(const Surroundings &around, std::vector<std::string> &all) {
    for (const std::string &reason : around.throttle) {
        const std::string known = onOneLine(reason.substr(0, utf8Boundary(reason, longestReportedName)));
        if (all.size() < mostThrottleReasons && std::ranges::find(all, known) == all.end())
            all.push_back(known);
    }
}

} // namespace

std::optional<Surroundings> surroundingsOfAll(const std::vector<NodeSurroundings> &nodes) {
    const NodeSurroundings *loaded = nullptr, *held = nullptr;
    std::vector<std::string> reasons;
    int known = 0;
    for (const NodeSurroundings &node : nodes) {
        if (!node.around || !isTimeOfWork(node.around->measuredS))
            continue;
        ++known;
        if (!loaded || loadOn(*node.around) > loadOn(*loaded->around))
            loaded = &node;
        if (node.around->throttledS && (!held || shareOf(node.around->throttledS, *node.around) >
                                                     shareOf(held->around->throttledS, *held->around)))
            held = &node;
        addReasons(*node.around, reasons);
    }
    if (!loaded)
        return std::nullopt;
    Surroundings out = *loaded->around;
    out.nodes = known;
    out.nodesUnknown = static_cast<int>(nodes.size()) - known;
    out.loadedNode = loaded->title;
    out.heldNode.clear();
    out.throttledS.reset();
    if (held) {
        const double share = shareOf(held->around->throttledS, *held->around);
        out.throttledS = share * out.measuredS;
        out.heldNode = share > 0 ? held->title : std::string();
    }
    out.throttle = std::move(reasons);
    return out;
}

std::optional<Watching> watchingOfAll(const std::vector<std::optional<Watching>> &nodes) {
    std::optional<Watching> out = nodes.front();
    if (!out)
        return out;
    out->nodes = static_cast<int>(nodes.size());
    double waitedS = 0;
    for (const auto &node : nodes) {
        if (!node || !node->ranksWaitedS) {
            out->ranksWaitedS.reset();
            return out;
        }
        waitedS += *node->ranksWaitedS;
    }
    out->ranksWaitedS = waitedS;
    return out;
}

} // namespace lockstep::agent
