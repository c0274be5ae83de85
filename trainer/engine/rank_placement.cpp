// SPDX-License-Identifier: MIT
#include "trainer/engine/rank_placement.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>
#include <unistd.h>

#include "ipc/placement.h"
#include "trainer/comm/gpus.h"

namespace lockstep::trainer {

namespace {

std::string joined(const std::vector<std::string> &parts) {
    std::string text;
    for (const auto &part : parts)
        text += (text.empty() ? "" : ",") + part;
    return text;
}

/// The devices this process trains on, as positions in config.devices.
std::vector<std::size_t> ownDevices(const RunConfig &config, const RankEnvironment &env) {
    if (isDistributed(config.method))
        return {static_cast<std::size_t>(env.localRank)};
    std::vector<std::size_t> all(config.devices.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

/// The cores a launcher (lockstep-agent, srun --cpu-bind, mpirun --bind-to) has bound this process to, if they are just
/// those of its devices. Then blocks are counted within them, not from the machine's first core.
std::optional<CoreList> boundCores(const RunConfig &config, const RankEnvironment &env, const CoreList &allowed,
                                   std::size_t devices) {
    if (!env.launched || config.oversubscribe)
        return {};
    const std::size_t wanted = devices * static_cast<std::size_t>(config.coresPerDevice);
    CoreList rest = allowed; // includes the workers' cores
    if (const auto workers = parseCores(config.workerCores); workers && !config.workerCores.empty())
        std::erase_if(rest, [&](int core) { return std::binary_search(workers->begin(), workers->end(), core); });
    // On a small machine, the cores without the workers' may be as many as one device has. If the launcher itself may run on all
    // cores, it bound no rank.
    if (rest.size() == wanted && (rest.size() == allowed.size() || allowedCores(::getppid()) != allowed))
        return rest;
    if (allowed.size() == wanted)
        return allowed;
    return {};
}

Result<Placement> placeOnCores(const RunConfig &config, const RankEnvironment &env, const CoreList &allowed) {
    const auto own = ownDevices(config, env);
    const auto bound = boundCores(config, env, allowed, own.size());
    if (!bound) {
        if (const auto problems = checkMachine(config, {allowed, {}}); !problems.empty())
            return fail(problems.front());
    }
    std::vector<int> numbers;
    for (const std::size_t position : own)
        numbers.push_back(std::stoi(config.devices[position]));
    Placement placement;
    placement.threads = config.threads > 0 ? config.threads : config.coresPerDevice;
    const int blocks = cpuDeviceCount(config.coresPerDevice, allowed);
    for (const int k : numbers) {
        const auto below = [k](int other) { return other < k; };
        const int block = bound ? static_cast<int>(std::count_if(numbers.begin(), numbers.end(), below))
                                : (config.oversubscribe ? k % blocks : k);
        const auto cores = coresOfCpuDevice(block, config.coresPerDevice, bound ? *bound : allowed);
        if (!cores)
            return fail(cores.error());
        placement.devices.push_back({c10::Device(c10::DeviceType::CPU), *cores, placement.threads});
        placement.names.push_back("cpu:" + std::to_string(k));
        placement.cores.insert(placement.cores.end(), cores->begin(), cores->end());
    }
    std::sort(placement.cores.begin(), placement.cores.end());
    placement.cores.erase(std::unique(placement.cores.begin(), placement.cores.end()), placement.cores.end());
    return placement;
}

/// Whether the launcher shows each rank only its own GPU (srun --gpus-per-task=1). Then that GPU is number 0.
bool seesItsOwnAlone(const RunConfig &config, const RankEnvironment &env, const std::vector<std::string> &gpus) {
    const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const auto isNumber = [](const std::string &name) {
        return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    return isDistributed(config.method) && env.launched && env.localWorldSize > 1 && !config.oversubscribe &&
           gpus.size() == 1 && visible && *visible && std::string_view(visible).find(',') == std::string_view::npos &&
           std::all_of(config.devices.begin(), config.devices.end(), isNumber);
}

Result<Placement> placeOnGpus(const RunConfig &config, const RankEnvironment &env) {
    const std::vector<std::string> gpus = visibleGpus();
    const int threads = std::max(1, config.threads);
    if (seesItsOwnAlone(config, env, gpus))
        return Placement{{{c10::Device(c10::DeviceType::CUDA, 0), {}, threads}}, gpus, {}, threads};
    if (const auto problems = checkMachine(config, {allowedCores(), gpus}); !problems.empty())
        return fail(problems.front());
    const auto names = deviceNames(config, {allowedCores(), gpus});
    Placement placement;
    placement.threads = threads;
    for (const std::size_t i : ownDevices(config, env)) {
        const auto index = std::find(gpus.begin(), gpus.end(), names[i]) - gpus.begin();
        placement.devices.push_back(
            {c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)), {}, threads});
        placement.names.push_back(names[i]);
    }
    return placement;
}

} // namespace

Result<RunConfig> fitToLauncher(RunConfig config, const RankEnvironment &env) {
    const std::string method(toString(config.method));
    if (!isDistributed(config.method)) {
        if (env.worldSize > 1)
            return fail(Error::badArgument(method + " is one process, but " + env.launcher + " started " +
                                               std::to_string(env.worldSize) + " ranks",
                                           "start one process, or use --method ddp"));
        return config;
    }
    if (!env.launched && deviceCount(config) > 1)
        return fail(
            Error::badArgument("--method " + method + " --devices " + joined(config.devices) + " needs " +
                                   std::to_string(deviceCount(config)) + " processes, and this one was started alone",
                               "start it with lockstep-agent run --nproc-per-node " +
                                   std::to_string(deviceCount(config)) + " -- lockstep-trainer …, or with torchrun"));
    takeFirstDevices(config, env.localWorldSize);
    const int here = static_cast<int>(config.devices.size()); // of several nodes: this one's
    if (here != env.localWorldSize || env.localRank >= env.localWorldSize)
        return fail(Error::badArgument(env.launcher + " started " + std::to_string(env.localWorldSize) +
                                           " ranks on this node, but --devices " + joined(config.devices) + " names " +
                                           std::to_string(here),
                                       "give one device a rank"));
    const int parts = batchParts(config, env.worldSize);
    if (parts < 1) // of the devices of several launchers' nodes; else the config's check says so
        return fail(Error::badArgument("--server-devices " + std::to_string(config.serverDevices) + " leaves none of " +
                                           std::to_string(env.worldSize) + " ranks to train",
                                       "give fewer, or start more ranks", "--server-devices"));
    if (config.batchPerDevice == 0 && config.batchSize % parts != 0) {
        const std::int64_t below = config.batchSize / parts * parts;
        return fail(Error::badArgument(
            "batch size " + std::to_string(config.batchSize) + " can't be divided among " + std::to_string(parts) +
                (specOf(config.method).splitsModel ? " pipelines" : " ranks"),
            "use " + (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + parts),
            "--batch-size"));
    }
    return config;
}

Result<Placement> placeOnMachine(const RunConfig &config, const RankEnvironment &env) {
    return config.device == "cuda" ? placeOnGpus(config, env) : placeOnCores(config, env, allowedCores());
}

double effectiveLr(const RunConfig &config, const RankEnvironment &env) {
    return lockstep::effectiveLr(config, isDistributed(config.method) ? env.worldSize : deviceCount(config));
}

std::int64_t processBatch(const RunConfig &config, const RankEnvironment &env) {
    if (isDistributed(config.method))
        return config.batchPerDevice > 0 ? config.batchPerDevice * stageCount(config, env.worldSize)
                                         : config.batchSize / batchParts(config, env.worldSize);
    return globalBatch(config);
}

std::int64_t runBatch(const RunConfig &config, const RankEnvironment &env) {
    if (!isDistributed(config.method) || config.batchPerDevice == 0)
        return globalBatch(config);
    return processBatch(config, env) * batchParts(config, env.worldSize);
}

} // namespace lockstep::trainer
