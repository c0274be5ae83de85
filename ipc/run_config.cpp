// SPDX-License-Identifier: MIT
#include "ipc/run_config.h"

#include <algorithm>
#include <vector>

#include "ipc/nearest_word.h"

namespace lockstep {

int deviceCount(const RunConfig &config) {
    if (config.nodes.empty())
        return static_cast<int>(config.devices.size());
    std::size_t count = 0;
    for (const NodePlace &node : config.nodes)
        count += node.devices.size();
    return static_cast<int>(count);
}

int processCount(const RunConfig &config) {
    return isDistributed(config.method) ? deviceCount(config) : 1;
}

bool anyGpu(const RunConfig &config) {
    const auto isGpu = [&](const std::string &device) { return (device.empty() ? config.device : device) == "cuda"; };
    return config.nodes.empty() ? isGpu({})
                                : std::any_of(config.nodes.begin(), config.nodes.end(),
                                              [&](const NodePlace &node) { return isGpu(node.device); });
}

int stageCount(const RunConfig &config, int devices) {
    if (!specOf(config.method).splitsModel)
        return 1;
    return config.stages > 0 ? config.stages : std::max(1, devices);
}

int trainingDevices(const RunConfig &config, int devices) {
    return knowsKey(config.method, "server_devices") ? std::max(0, devices - config.serverDevices) : devices;
}

bool hasServingDevices(const RunConfig &config) {
    return trainingDevices(config, deviceCount(config)) < deviceCount(config);
}

bool onlyServes(const RunConfig &config, int rank, int devices) {
    return rank >= trainingDevices(config, devices);
}

int batchParts(const RunConfig &config, int devices) {
    return trainingDevices(config, devices) / stageCount(config, devices);
}

bool writesCheckpoints(const RunConfig &config) {
    return !config.checkpointDir.empty() || config.maxRestarts > 0;
}

RunConfig withoutKeeping(RunConfig config) {
    config.checkpointDir.clear();
    config.saveFinal.clear();
    config.resume = false;
    config.maxRestarts = 0;
    config.onNonfinite = RunConfig().onNonfinite; // a rollback needs checkpoints
    return config;
}

std::int64_t globalBatch(const RunConfig &config) {
    return config.batchPerDevice > 0 ? config.batchPerDevice * trainingDevices(config, deviceCount(config))
                                     : config.batchSize;
}

const FieldSpec *findField(std::string_view key) {
    for (const FieldSpec &field : runConfigFields())
        if (field.key == key)
            return &field;
    return nullptr;
}

std::string normalised(const FieldSpec &field, const std::string &value) {
    RunConfig scratch;
    return field.set(scratch, value) ? field.get(scratch) : value;
}

std::string nearestKey(std::string_view key) {
    static const std::vector<std::string> known = [] {
        std::vector<std::string> keys;
        for (const FieldSpec &field : runConfigFields())
            keys.emplace_back(field.key);
        return keys;
    }();
    // Flags and keys use the same words.
    std::string plain(key.substr(0, 64));
    std::replace(plain.begin(), plain.end(), '-', '_');
    return nearestWord(plain, known);
}

std::string keyInstead(std::string_view key, std::string_view mark) {
    return meantWord(nearestKey(key), mark, "`lockstep-trainer --help` lists the keys as flags");
}

std::string flagOf(const FieldSpec &field) {
    std::string flag = "--" + std::string(field.key);
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
}

std::vector<std::string> toArguments(const RunConfig &config) {
    static const RunConfig defaults;
    std::vector<std::string> arguments;
    for (const FieldSpec &field : runConfigFields()) {
        const std::string value = field.get(config);
        if (field.key != "method" && value == field.get(defaults))
            continue;
        // One argument per flag ("--key=value"), because a value may begin with '-' or be empty.
        if (field.type == FieldType::Switch && value == "true")
            arguments.push_back(flagOf(field));
        else
            arguments.push_back(flagOf(field) + "=" + value);
    }
    return arguments;
}

} // namespace lockstep
