// SPDX-License-Identifier: MIT
#pragma once
// Only for files in ipc. What else went on at a run as JSON, for result.json and for a node's last message.
#include "ipc/document_keys_detail.h"
#include "ipc/placement.h"
#include "ipc/run_folder.h"
#include "ipc/thousands.h"

namespace lockstep::documents {

/// A number of nodes, which a run on one node does not write.
template <class Keys, class T> void ofSeveral(Keys &keys, const char *key, T &value, int ofOneNode) {
    if (std::same_as<Keys, ReadingKeys> || value != ofOneNode)
        keys(key, value);
    if constexpr (std::same_as<Keys, ReadingKeys>)
        if (value < 0 || value > mostNodes)
            keys.reader().mistake(key, "a whole number from 0 to " + thousands(mostNodes));
}

template <class Keys, Is<Watching> W> void describe(Keys &keys, W &watching, const std::string &) {
    keys("watched_s", watching.watchedS);
    keys("viewers_cpu_s", watching.viewersCpuS);
    keys("queue_cpu_s", watching.queueCpuS);
    keys("agent_cpu_s", watching.agentCpuS);
    keys("ranks_waited_s", watching.ranksWaitedS);
    ofSeveral(keys, "nodes", watching.nodes, 1);
}

template <class Keys, Is<Surroundings> S> void describe(Keys &keys, S &around, const std::string &) {
    keys("measured_s", around.measuredS);
    keys("other_cpu_s", around.otherCpuS);
    keys("stolen_s", around.stolenS);
    keys("throttled_s", around.throttledS);
    keys("throttle", around.throttle);
    ofSeveral(keys, "nodes", around.nodes, 1);
    ofSeveral(keys, "nodes_unknown", around.nodesUnknown, 0);
    keys.sparse("loaded_node", around.loadedNode);
    keys.sparse("held_node", around.heldNode);
    keys("free_cores", around.freeCores);
}

} // namespace lockstep::documents
