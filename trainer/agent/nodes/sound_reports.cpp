// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/sound_reports.h"

#include <algorithm>

#include "ipc/json_writer.h"
#include "trainer/agent/ranks/node_plan.h"
#include "trainer/agent/ranks/rank_process.h"

namespace lockstep::agent {

namespace {
constexpr int highestExitCode = 255, highestSignal = 64;

bool isListed(const std::string &device, const NodeMessage &join) {
    return std::ranges::find(join.devices, device) != join.devices.end();
}
} // namespace

Result<void> checkJoin(int node, const NodeMessage &join) {
    const auto tooMany = [](std::size_t count, const char *what) {
        return fail(Error::failed("it lists " + std::to_string(count) + " " + what + ", and a node may have " +
                                      std::to_string(mostDevicesOfNode),
                                  "start it with fewer of them"));
    };
    const std::size_t recorded = join.machine ? join.machine->devices.size() : 0;
    if (const std::size_t devices = std::max(join.devices.size(), recorded); devices > mostDevicesOfNode)
        return tooMany(devices, "devices");
    if (join.machine && join.machine->interfaces.size() > mostDevicesOfNode)
        return tooMany(join.machine->interfaces.size(), "interfaces");
    for (const std::string &device : join.devices)
        if (const auto owner = nodeInName(device); owner && owner != node)
            return fail(Error::failed("it lists " + shortName(device) + ", which is named after another node",
                                      "use one version of Lockstep on all nodes"));
    return {};
}

std::string changeInJoin(const NodeMessage &first, const NodeMessage &again) {
    const int before = first.processes.value_or(1), now = again.processes.value_or(1);
    if (now != before)
        return std::to_string(now) + (now == 1 ? " rank" : " ranks") + " instead of " + std::to_string(before);
    return again.devices != first.devices ? "other devices" : again.shared != first.shared ? "another run folder" : "";
}

Result<void> checkPlace(int firstRank, int worldSize, int ranks) {
    if (firstRank >= 0 && worldSize >= ranks && worldSize <= maxRank && firstRank <= worldSize - ranks)
        return {};
    const std::int64_t last = std::int64_t(firstRank) + ranks - 1;
    return fail(Error::failed("agent 0 asks for ranks " + std::to_string(firstRank) + " to " + std::to_string(last) +
                                  " of " + std::to_string(worldSize) + " here",
                              "use one version of Lockstep on all nodes"));
}

std::optional<std::string> otherDeviceIn(const Frame &frame, int node, const NodeMessage &join) {
    const auto otherIn = [&](const auto &devices) -> std::optional<std::string> {
        for (const auto &each : devices)
            if (nodeInName(each.device) != node && !isListed(each.device, join))
                return each.device;
        return std::nullopt;
    };
    if (const auto *sample = std::get_if<DeviceFrame>(&frame.body))
        return otherIn(sample->devices);
    if (const auto *epoch = std::get_if<EpochFrame>(&frame.body))
        return otherIn(epoch->devices);
    return std::nullopt;
}

NodeMessage soundFailure(NodeMessage failed) {
    failed.exitCode = failed.exitCode == exitBadArguments ? exitBadArguments : exitFailed;
    if (failed.code && (*failed.code < 1 || *failed.code > highestExitCode))
        failed.code = exitFailed;
    if (failed.signal && (*failed.signal < 1 || *failed.signal > highestSignal))
        failed.signal.reset();
    return failed;
}

NodeMessage soundEnd(NodeMessage over) {
    const auto said = runStateFrom(over.state);
    const RunState state = said && isFinal(*said) ? *said : RunState::Failed;
    over.state = std::string(toString(state));
    over.exitCode = state == RunState::Done ? exitDone : state == RunState::Stopped ? exitStopped : exitFailed;
    return over;
}

RankExit soundExit(int rank, const ExitFrame &exit) {
    return {rank, shortName(exit.host), exit.code, exit.signal, exit.signal ? signalName(*exit.signal) : ""};
}

EpochNumbers::Made lesserMade(const EpochNumbers::Made &here, const NodeMessage &gone) {
    const int epochs = std::max(0, gone.epochs.value_or(0));
    if (epochs >= here.epochs)
        return here;
    return {epochs, std::clamp(gone.steps.value_or(0), std::int64_t(0), std::max(here.steps, std::int64_t(0)))};
}

std::string shortName(std::string name) {
    name.resize(utf8Boundary(name, longestReportedName));
    return name;
}

} // namespace lockstep::agent
