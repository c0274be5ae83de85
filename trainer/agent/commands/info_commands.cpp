// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/commands/attach_target.h"
#include "trainer/agent/devices/device_use.h"
#include "trainer/agent/devices/machine.h"

namespace lockstep::agent {

namespace {

using Json = nlohmann::ordered_json;

std::string oneLine(const Json &json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The document in a file; null if the file is missing or not JSON.
Json documentIn(const std::string &path) {
    const auto text = realFileSystem().readAll(path);
    Json document = text ? documents::objectOrNull(*text) : Json();
    return document.is_discarded() ? Json() : document;
}

const char *stateName(const RunStatus &status) {
    switch (status.kind) {
    case RunStatus::Kind::Starting:
        return "starting";
    case RunStatus::Kind::Running:
        return "running";
    case RunStatus::Kind::Finished:
        return "finished";
    case RunStatus::Kind::AgentDied:
        return agentDiedState;
    case RunStatus::Kind::Unknown:
        return "unknown";
    }
    return "";
}

} // namespace

int statusCommand(const std::string &runId) {
    const RunFolder folder = isRunId(runId) ? runFolder(runId) : RunFolder{};
    Json record = folder.path.empty() ? Json() : documentIn(folder.config());
    if (record.is_null()) {
        std::fprintf(stderr, "there is no run '%s' in %s; lockstepctl list shows the runs there are\n", runId.c_str(),
                     runsFolder().c_str());
        return 2;
    }
    const RunStatus status = readRunStatus(folder);
    Json json;
    json["type"] = "status";
    json["run"] = runId;
    json["state"] = stateName(status);
    json["sentence"] = status.sentence;
    json["record"] = std::move(record);
    json["result"] = documentIn(folder.result());
    std::printf("%s\n", oneLine(json).c_str());
    return 0;
}

int machineCommand(int coresPerDevice) {
    // Machines are encoded only as part of a RunRecord: encode a record with this machine and print that part.
    const auto nvml = Nvml::load();
    RunRecord record;
    record.machines = {takeMachineRecord(0, coresPerDevice, nvml.get())};
    const Json json = documents::objectOrNull(toJson(record));
    if (json.is_discarded() || !json.contains("machines"))
        return 1;
    std::printf("%s\n", oneLine(json["machines"].front()).c_str());
    return 0;
}

int devicesCommand(int coresPerDevice) {
    const auto nvml = Nvml::load();
    const auto orNull = [](const auto &value) { return value ? Json(*value) : Json(nullptr); };
    Json json = {{"devices", Json::array()}};
    for (const DeviceUse &use : sampleDevices(coresPerDevice, nvml.get())) {
        Json device = {{"device", use.record.device},
                       {"kind", use.record.kind},
                       {"name", use.record.name},
                       {"cores", use.record.cores},
                       {"uuid", use.record.uuid},
                       {"memory_total_bytes", orNull(use.record.memoryTotalBytes)},
                       {"memory_used_bytes", orNull(use.memoryUsedBytes)},
                       {"busy", orNull(use.busy)},
                       {"users", Json::array()}};
        for (const DeviceUser &user : use.users)
            device["users"].push_back({{"pid", user.pid},
                                       {"name", user.name},
                                       {"share", orNull(user.share)},
                                       {"memory_bytes", orNull(user.memoryBytes)}});
        json["devices"].push_back(std::move(device));
    }
    std::printf("%s\n", oneLine(json).c_str());
    return 0;
}

} // namespace lockstep::agent
