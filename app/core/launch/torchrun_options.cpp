// SPDX-License-Identifier: MIT
#include "launch/torchrun_options.h"

namespace lockstep::core {

std::vector<std::pair<std::string, std::string>> torchrunOptions(const RunConfig &config, const TorchrunPlace &place) {
    std::vector<std::pair<std::string, std::string>> out;
    if (place.nodes > 1) {
        out.emplace_back("--nnodes", std::to_string(place.nodes));
        out.emplace_back("--node-rank", place.node);
    }
    out.emplace_back("--nproc-per-node", std::to_string(place.processes));
    if (torchrunRestarts(config, place.nodes)) {
        out.emplace_back("--max-restarts", std::to_string(config.maxRestarts));
        out.emplace_back("--standalone", ""); // gives each launch an id: a restart takes no other one's checkpoint
        return out;
    }
    if (!place.master.empty())
        out.emplace_back("--master-addr", place.master);
    if (place.port)
        out.emplace_back("--master-port", std::to_string(*place.port));
    return out;
}

bool torchrunRestarts(const RunConfig &config, int nodes) {
    return isDistributed(config.method) && nodes == 1 && config.maxRestarts > 0;
}

RunConfig withCheckpointsIn(const std::string &folder, RunConfig config) {
    if (config.checkpointDir.empty())
        config.checkpointDir = folder;
    return config;
}

} // namespace lockstep::core
