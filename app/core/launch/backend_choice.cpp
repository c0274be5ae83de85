#include "launch/backend_choice.h"

#include <set>

#include "launch/plan.h"

namespace lockstep::core {

BackendChoice backendOf(const PlannedRun &run) {
    const RunConfig &config = run.config;
    if (!isDistributed(config.method) || !run.command.empty())
        return {};
    if (config.backend != "auto")
        return {config.backend, "as chosen"};
    if (config.device == "cpu")
        return {"gloo", "nccl takes GPUs, and these devices are CPU cores"};
    const std::set<std::string> distinct(config.devices.begin(), config.devices.end());
    if (distinct.size() < config.devices.size())
        return {"gloo", "nccl takes one rank a GPU, and ranks share one here"};
    return {"nccl", "each rank has a GPU of its own"};
}

} // namespace lockstep::core
