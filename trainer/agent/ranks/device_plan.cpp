// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/device_plan.h"

#include <algorithm>
#include <cstdlib>

#include "trainer/agent/devices/machine.h"
#include "trainer/agent/ranks/node_plan.h"

namespace lockstep::agent {

namespace {
/// Index of a CPU device: 3 for "cpu:3" or "3".
int cpuIndex(const std::string &device) {
    const auto colon = device.find(':');
    return std::atoi(device.c_str() + (colon == std::string::npos ? 0 : colon + 1));
}

CoreList coresOf(const RunConfig &config, int k, const CoreList &allowed) {
    if (config.oversubscribe) { // several devices share the available cores
        const int there = std::max(1, cpuDeviceCount(config.coresPerDevice, allowed));
        k %= there;
    }
    const auto cores = coresOfCpuDevice(k, config.coresPerDevice, allowed);
    return cores ? *cores : allowed;
}

CoreList merged(CoreList a, const CoreList &b) {
    a.insert(a.end(), b.begin(), b.end());
    std::sort(a.begin(), a.end());
    a.erase(std::unique(a.begin(), a.end()), a.end());
    return a;
}
} // namespace

std::vector<DevicePlan> devicesOf(const RunConfig &config, const std::vector<std::string> &names,
                                  const MachineRecord &machine, int firstRank) {
    const CoreList allowed = allowedCores();
    std::vector<DevicePlan> devices;
    for (std::size_t i = 0; i < names.size(); ++i) {
        DevicePlan device;
        device.name = names[i];
        device.kind = config.device;
        if (config.device == "cpu") {
            device.cores = coresOf(config, cpuIndex(names[i]), allowed);
            device.model = machine.cpuModel;
        }
        const int processes = isDistributed(config.method) ? static_cast<int>(config.devices.size()) : 1;
        if (processes == static_cast<int>(names.size()))
            device.rank = firstRank + static_cast<int>(i);
        devices.push_back(std::move(device));
    }
    return devices;
}

CoreList affinityOf(const RunConfig &config, const std::vector<DevicePlan> &devices, int rank) {
    CoreList cores;
    for (const DevicePlan &device : devices)
        if (device.kind == "cpu" && (!device.rank || *device.rank == rank))
            cores = merged(cores, device.cores);
    if (const auto workers = parseCores(config.workerCores); workers && !cores.empty() && !config.workerCores.empty())
        cores = merged(cores, *workers);
    return cores;
}

std::optional<int> freeCoresOf(const LaunchPlan &plan) {
    CoreList taken;
    for (const RankPlan &rank : plan.ranks) {
        const RunConfig unnamed;
        // Without an affinity lockstep-trainer binds itself, or the process may use all the devices.
        const CoreList own = !rank.affinity.empty()
                                 ? rank.affinity
                                 : affinityOf(plan.record.config.value_or(unnamed), plan.devices, rank.rank);
        if (own.empty())
            return std::nullopt;
        taken = merged(taken, own);
    }
    int free = 0;
    for (const int core : allowedCores())
        free += std::binary_search(taken.begin(), taken.end(), core) ? 0 : 1;
    return free;
}

std::string devicesOfRank(const std::vector<DevicePlan> &devices, int rank) {
    std::string names;
    for (const DevicePlan &device : devices)
        if (!device.rank || *device.rank == rank)
            names += (names.empty() ? "" : ",") + localName(device.name);
    return names;
}

std::vector<DevicePlan> devicesOfCommand(const CommandOptions &options, const MachineRecord &machine,
                                         const Nvml *nvml) {
    std::vector<DevicePlan> devices;
    const CoreList allowed = allowedCores();
    const auto add = [&](int k, CoreList cores, std::optional<int> rank) {
        devices.push_back({"cpu:" + std::to_string(k), "cpu", machine.cpuModel, std::move(cores), rank});
    };
    if (options.coresPerRank > 0)
        for (int k = 0; k < options.processes; ++k)
            add(k, coresOfCpuDevice(k, options.coresPerRank, allowed).value_or(allowed),
                options.nodeRank * options.processes + k);
    else if (nvml && !nvml->gpus().empty())
        for (const Nvml::Gpu &gpu : nvml->gpus())
            devices.push_back({gpu.uuid, "cuda", gpu.name, {}, std::nullopt});
    else
        add(0, allowed, options.processes == 1 ? std::optional(options.nodeRank) : std::nullopt);
    return devices;
}

} // namespace lockstep::agent
