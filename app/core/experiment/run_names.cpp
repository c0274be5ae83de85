// SPDX-License-Identifier: MIT
#include "experiment/run_names.h"

#include <algorithm>
#include <map>
#include <set>

#include "experiment/script_flags.h"
#include "ipc/model_facts.h"
#include "ipc/run_title.h"

namespace lockstep::core {
namespace {

constexpr std::string_view coresKey = "worker_cores";

std::string counted(std::int64_t count, const char *what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

using RunGroups = std::map<std::string, std::vector<PlannedRun *>>;

RunGroups groupsByName(const std::vector<PlannedRun *> &runs) {
    RunGroups groups;
    for (PlannedRun *run : runs)
        groups[run->name].push_back(run);
    std::erase_if(groups, [](const auto &group) { return group.second.size() < 2; });
    return groups;
}

bool isUnlike(const std::vector<PlannedRun *> &group, const FieldSpec &field) {
    return std::ranges::any_of(
        group, [&](const PlannedRun *run) { return field.get(run->config) != field.get(group.front()->config); });
}

/// What every run has unless somebody says otherwise goes without saying.
bool isDefault(const RunConfig &config, const FieldSpec &field) {
    static const RunConfig defaults;
    return field.get(config) == field.get(defaults);
}

void addToName(PlannedRun &run, const FieldSpec &field, Defaults defaults) {
    if (defaults == Defaults::Omitted && isDefault(run.config, field))
        return;
    const std::string part = ", " + settingText(run.config, field.key);
    if (!run.name.ends_with(part)) // a batch per device covers both keys
        run.name += part;
}

} // namespace

std::string settingText(const RunConfig &config, std::string_view key) {
    if (key == "workers")
        return counted(config.workers, "worker");
    if (key == "batch_size" || key == "batch_per_device")
        return config.batchPerDevice > 0 ? "batch " + std::to_string(config.batchPerDevice) + " a device"
                                         : "batch " + std::to_string(config.batchSize);
    if (key == "loader")
        return config.loader + " loader";
    if (key == "augment")
        return config.augment == "none" ? "no augmentation" : config.augment;
    if (key == "precision")
        return config.precision;
    if (key == "cuda_graph")
        return config.cudaGraph ? "CUDA graph" : "no CUDA graph";
    if (key == "model")
        return "model " + modelTitle(config.model);
    if (key == "epochs")
        return counted(config.epochs, "epoch");
    if (key == "all_reduce")
        return config.allReduce == "ring" ? "ring" : "the backend's all-reduce";
    if (key == "compress_gradients")
        return config.compressGradients == "none" ? "gradients as they are" : config.compressGradients + " gradients";
    if (key == "accumulate")
        return counted(config.accumulate, "part") + " a batch";
    if (key == "shards")
        return config.shards + " shards";
    if (key == "servers")
        return counted(config.servers, "server");
    if (key == "server_devices")
        return config.serverDevices == 0 ? "servers that train" : counted(config.serverDevices, "server device");
    if (key == "max_staleness")
        return config.maxStaleness < 0 ? "any staleness"
                                       : "staleness " + std::to_string(config.maxStaleness) + " at most";
    if (key == "stages")
        return config.stages == 0 ? "a stage a device" : counted(config.stages, "stage");
    if (key == "micro_batches")
        return std::to_string(config.microBatches) + (config.microBatches == 1 ? " micro-batch" : " micro-batches");
    if (key == "pipeline_schedule")
        return config.pipelineSchedule;
    std::string text(key);
    std::ranges::replace(text, '_', ' ');
    const FieldSpec &field = *findField(key);
    const std::string value = field.get(config);
    if (field.type == FieldType::Switch)
        return value == "true" ? text : "no " + text;
    return text + " " + (value.empty() ? "unset" : value);
}

void tellApart(const std::vector<PlannedRun *> &runs, Defaults defaults) {
    for (auto &[name, group] : groupsByName(runs))
        for (const FieldSpec &field : runConfigFields())
            if (field.key != coresKey && isUnlike(group, field))
                for (PlannedRun *run : group)
                    addToName(*run, field, defaults);
    for (auto &[name, group] : groupsByName(runs)) {
        std::set<std::string> apart;
        for (const PlannedRun *run : group)
            for (std::string &flag : flagsApart(group.front()->claims.flags, run->claims.flags))
                apart.insert(std::move(flag));
        for (PlannedRun *run : group)
            for (const std::string &flag : apart)
                run->name += ", " + flagText(run->claims.flags, flag);
    }
    const FieldSpec &cores = *findField(coresKey);
    for (auto &[name, group] : groupsByName(runs))
        if (isUnlike(group, cores))
            for (PlannedRun *run : group)
                addToName(*run, cores, Defaults::Omitted);
    for (PlannedRun *run : runs)
        run->name = cutTitle(std::move(run->name)); // as it is read again
}

bool mayRename(const Recipe &recipe, std::string_view key) {
    if (isMeant(key))
        return true;
    const bool takesAll = std::ranges::any_of(
        recipe.runs, [](const RunSpec &spec) { return spec.devices.kind == DeviceRequest::Kind::All; });
    if (takesAll && // their number follows from other keys
        (key == "device" || key == "cores_per_device" || key == "batch_size" || key == "batch_per_device"))
        return true;
    const FieldSpec *field = findField(key);
    return field && std::ranges::any_of(recipe.runs, [&](const RunSpec &spec) {
               return field->get(spec.config) != field->get(recipe.runs.front().config);
           });
}

bool isMeant(std::string_view key) {
    const FieldSpec *field = findField(key);
    return field && field->effect == FieldEffect::Means;
}

std::string runTitle(const RunConfig &config, bool withBackend) {
    const MethodSpec &method = specOf(config.method);
    return titleOf(method, deviceCount(config)) +
           (hasServingDevices(config) ? ", " + settingText(config, "server_devices") : "") +
           (withBackend && method.processPerDevice ? ", " + config.backend : std::string());
}

} // namespace lockstep::core
