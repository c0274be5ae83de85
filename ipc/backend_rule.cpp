// SPDX-License-Identifier: MIT
#include "ipc/backend_rule.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ipc/run_config.h"

namespace lockstep {

BackendRule backendFor(std::string_view wanted, std::span<const std::string> gpus) {
    if (wanted != "auto")
        return {std::string(wanted), BackendReason::AsChosen};
    const auto without = std::ranges::count(gpus, std::string());
    if (without == std::ssize(gpus))
        return {"gloo", BackendReason::CpuDevices};
    if (without > 0)
        return {"gloo", BackendReason::SomeCpuDevices};
    const std::set<std::string> distinct(gpus.begin(), gpus.end());
    if (distinct.size() < gpus.size())
        return {"gloo", BackendReason::SharedGpu};
    return {"nccl", BackendReason::GpuEach};
}

BackendRule backendInEffect(const RunConfig &config) {
    std::vector<std::string> gpus;
    const auto add = [&](const std::string &kind, const std::string &where, const std::vector<std::string> &devices) {
        for (const std::string &device : devices)
            gpus.push_back(kind == "cuda" ? where + device : std::string());
    };
    if (config.nodes.empty())
        add(config.device, "GPU ", config.devices);
    for (std::size_t i = 0; i < config.nodes.size(); ++i) {
        const NodePlace &node = config.nodes[i];
        add(node.device.empty() ? config.device : node.device, "node " + std::to_string(i) + " GPU ", node.devices);
    }
    return backendFor(config.backend, gpus);
}

std::string_view whyNotOnGpus(const RunConfig &config) {
    if (config.allReduce == "ring" && knowsKey(config.method, "all_reduce"))
        return "the ring sends gradients between CPU devices, and not between GPUs yet";
    return specOf(config.method).notOnGpus;
}

} // namespace lockstep
