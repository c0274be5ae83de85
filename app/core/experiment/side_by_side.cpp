// SPDX-License-Identifier: MIT
#include "experiment/side_by_side.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

namespace lockstep::core {
namespace {

/// The devices and cores that a run has exclusively.
struct Taken {
    std::set<int> cores;
    std::set<std::string> gpus;
    [[nodiscard]] bool meets(const Taken &other) const {
        const auto any = [](const auto &one, const auto &two) {
            return std::ranges::any_of(one, [&](const auto &each) { return two.contains(each); });
        };
        return any(cores, other.cores) || any(gpus, other.gpus);
    }
};

std::string gpuOf(const std::string &device, const SideBySide &places) {
    const bool index = !device.empty() && std::ranges::all_of(device, [](char c) { return c >= '0' && c <= '9'; });
    const std::size_t at = index ? std::size_t(std::atoi(device.c_str())) : 0;
    return index && at < places.gpus.size() ? places.gpus[at] : device;
}

/// Nothing if a device does not exist.
std::optional<Taken> takenBy(const RunConfig &config, const SideBySide &places) {
    Taken out;
    for (const std::string &device : config.devices) {
        if (config.device != "cpu") {
            out.gpus.insert(gpuOf(device, places));
            continue;
        }
        const auto cores = coresOfCpuDevice(std::atoi(device.c_str()), config.coresPerDevice, places.cores);
        if (!cores)
            return std::nullopt;
        out.cores.insert(cores->begin(), cores->end());
    }
    if (!config.workerCores.empty())
        if (const auto cores = parseCores(config.workerCores))
            out.cores.insert(cores->begin(), cores->end());
    return out;
}

/// The lowest free devices, as many as requested; else nothing.
std::optional<std::vector<std::string>> freeDevices(const RunConfig &config, const Taken &taken,
                                                    const SideBySide &places) {
    std::vector<std::string> out;
    RunConfig one = config;
    one.workerCores.clear();
    const int count =
        config.device == "cpu" ? cpuDeviceCount(config.coresPerDevice, places.cores) : int(places.gpus.size());
    for (int i = 0; i < count && out.size() < config.devices.size(); ++i) {
        one.devices = {std::to_string(i)};
        if (const auto its = takenBy(one, places); its && !its->meets(taken))
            out.push_back(one.devices.front());
    }
    return out.size() == config.devices.size() ? std::optional(out) : std::nullopt;
}

/// As many free cores for loading as the run names.
std::optional<std::string> freeWorkerCores(const RunConfig &config, Taken taken, const SideBySide &places) {
    const auto wanted = parseCores(config.workerCores);
    RunConfig devices = config;
    devices.workerCores.clear();
    const auto own = takenBy(devices, places);
    if (!wanted || !own)
        return std::nullopt;
    taken.cores.insert(own->cores.begin(), own->cores.end());
    CoreList out;
    for (const int core : places.cores)
        if (out.size() < wanted->size() && !taken.cores.contains(core))
            out.push_back(core);
    return out.size() == wanted->size() ? std::optional(formatCores(out)) : std::nullopt;
}

std::vector<RunToPlace> untimed(const std::vector<TimedRun> &runs) {
    std::vector<RunToPlace> out;
    for (const TimedRun &timed : runs)
        out.push_back(timed.run);
    return out;
}

} // namespace

std::optional<RunConfig> placeBeside(const RunToPlace &run, const std::vector<RunToPlace> &others,
                                     const SideBySide &places) {
    const RunConfig &config = run.config;
    if (others.empty() || places.inTurns)
        return config;
    // Free devices on other nodes are unknown here.
    const auto bearsNone = [](const RunToPlace &one) { return one.alone || !one.config.nodes.empty(); };
    if (bearsNone(run) || std::ranges::any_of(others, bearsNone))
        return std::nullopt;
    Taken taken;
    for (const RunToPlace &other : others)
        if (const auto its = takenBy(other.config, places)) {
            taken.cores.insert(its->cores.begin(), its->cores.end());
            taken.gpus.insert(its->gpus.begin(), its->gpus.end());
        }
    const auto own = takenBy(config, places);
    if (config.oversubscribe || !own)
        return std::nullopt; // it shares cores on purpose, or lacks them: not next to others
    if (!own->meets(taken))
        return config;
    RunConfig moved = config;
    const auto devices = freeDevices(config, taken, places);
    if (!devices)
        return std::nullopt;
    moved.devices = *devices;
    if (!config.workerCores.empty()) {
        const auto cores = freeWorkerCores(moved, taken, places);
        if (!cores)
            return std::nullopt;
        moved.workerCores = *cores;
    }
    return moved;
}

SideBySideTime timeSideBySide(const std::vector<TimedRun> &running, const std::vector<TimedRun> &waiting,
                              const SideBySide &places) {
    SideBySideTime out;
    std::vector<TimedRun> now = running; // `seconds`: when each ends
    std::size_t next = 0;
    while (true) {
        while (next < waiting.size() && int(now.size()) < (places.inTurns ? 1 : std::max(1, places.runs))) {
            const auto &[run, seconds] = waiting[next];
            const auto placed = placeBeside(run, untimed(now), places);
            if (!placed)
                break;
            now.push_back({{*placed, run.alone}, out.seconds + seconds});
            ++next;
        }
        out.mostAtOnce = std::max(out.mostAtOnce, int(now.size()));
        if (now.empty())
            return out;
        const auto first = std::ranges::min_element(now, {}, &TimedRun::seconds);
        out.seconds = std::max(out.seconds, first->seconds);
        now.erase(first);
    }
}

} // namespace lockstep::core
