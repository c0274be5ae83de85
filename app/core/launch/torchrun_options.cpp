// SPDX-License-Identifier: MIT
#include "launch/torchrun_options.h"

#include "nodes/torchrun_lines.h"

namespace lockstep::core {

std::vector<std::pair<std::string, std::string>> torchrunOptions(const RunConfig &config, const TorchrunPlace &place) {
    const bool several = place.nodes > 1, restarts = config.maxRestarts > 0;
    std::vector<std::pair<std::string, std::string>> out;
    if (several)
        out.emplace_back("--nnodes", std::to_string(place.nodes));
    if (several && !restarts)
        out.emplace_back("--node-rank", place.node);
    out.emplace_back("--nproc-per-node", std::to_string(place.processes));
    if (restarts) {
        out.emplace_back("--max-restarts", std::to_string(config.maxRestarts));
        out.emplace_back("--rdzv-id", place.job);
    }
    if (several && restarts) {
        out.emplace_back("--rdzv-backend", "c10d");
        out.emplace_back("--rdzv-endpoint", place.master + ":" + std::to_string(place.port.value_or(torchrunPort)));
        return out;
    }
    if (!place.master.empty())
        out.emplace_back("--master-addr", place.master);
    if (place.port)
        out.emplace_back("--master-port", std::to_string(*place.port));
    return out;
}

RunConfig withCheckpointsIn(const std::string &folder, RunConfig config) {
    if (config.maxRestarts > 0 && config.checkpointDir.empty())
        config.checkpointDir = folder;
    return config;
}

} // namespace lockstep::core
