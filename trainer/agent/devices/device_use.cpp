// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/device_use.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "ipc/cores.h"
#include "ipc/printable.h"
#include "ipc/process_stat.h"
#include "ipc/run_folder.h"
#include "trainer/agent/devices/machine.h"
#include "trainer/agent/devices/proc_files.h"

namespace lockstep::agent {

namespace {

constexpr std::chrono::milliseconds deviceSampleTime{350};
constexpr double leastShare = 0.02;
constexpr std::size_t mostUsers = 8;

std::map<int, ProcessStat> allProcesses() {
    std::map<int, ProcessStat> all;
    DIR *folder = ::opendir("/proc");
    if (!folder)
        return all;
    while (const dirent *entry = ::readdir(folder)) {
        int pid = 0;
        const char *end = entry->d_name + std::strlen(entry->d_name);
        if (std::from_chars(entry->d_name, end, pid).ptr == end && pid > 0)
            if (const auto stat = processStatOf(pid))
                all[pid] = *stat;
    }
    ::closedir(folder);
    return all;
}

std::string nameOfProcess(int pid) {
    constexpr std::size_t kernelKeeps = 15; // letters of a name
    const std::string folder = "/proc/" + std::to_string(pid);
    std::string name = readSmallFile(folder + "/comm");
    name.erase(name.find_last_not_of('\n') + 1);
    if (name.size() < kernelKeeps)
        return name;
    const std::string arguments = readSmallFile(folder + "/cmdline");
    const std::string program = arguments.substr(0, arguments.find('\0'));
    std::string whole = program.substr(program.find_last_of('/') + 1);
    return whole.starts_with(name) ? cutText(std::move(whole), longestReportedName) : name;
}

/// This process and its parent, which asked for the measurement: neither will use the device while a run does.
bool isAsking(int pid) {
    return pid == ::getpid() || pid == ::getppid();
}

/// The processes that used these cores between two readings. What this process and its parent used is added to `asking`
/// instead.
std::vector<DeviceUser> usersOf(const CoreList &cores, const std::map<int, ProcessStat> &before,
                                const std::map<int, ProcessStat> &after, double seconds, double &asking) {
    std::vector<DeviceUser> users;
    const double ticksASecond = static_cast<double>(::sysconf(_SC_CLK_TCK));
    for (const auto &[pid, now] : after) {
        const auto earlier = before.find(pid);
        if (earlier == before.end() || std::find(cores.begin(), cores.end(), now.core) == cores.end())
            continue;
        const double ticks = static_cast<double>(now.cpuTicks - earlier->second.cpuTicks);
        const double share = ticks / ticksASecond / seconds / static_cast<double>(cores.size());
        if (isAsking(pid))
            asking += share;
        else if (share >= leastShare)
            users.push_back({pid, nameOfProcess(pid), std::min(share, 1.0), std::nullopt});
    }
    return users;
}

void keepLargest(std::vector<DeviceUser> &users) {
    std::sort(users.begin(), users.end(), [](const DeviceUser &a, const DeviceUser &b) {
        return std::pair(a.share.value_or(0), a.memoryBytes.value_or(0)) >
               std::pair(b.share.value_or(0), b.memoryBytes.value_or(0));
    });
    users.resize(std::min(users.size(), mostUsers));
}

DeviceUse gpuUse(const DeviceRecord &record, Nvml &nvml, std::size_t index) {
    const DeviceSample sample = nvml.sample(index);
    DeviceUse use{record, sample.utilization, sample.memoryUsedBytes, {}};
    for (const Nvml::Process &process : nvml.processes(index))
        use.users.push_back({process.pid, nameOfProcess(process.pid), std::nullopt, process.memoryBytes});
    keepLargest(use.users);
    return use;
}

} // namespace

std::vector<DeviceUse> sampleDevices(int coresPerDevice, Nvml *nvml) {
    const MachineRecord machine = takeMachineRecord(0, coresPerDevice, nvml);
    const auto coresBefore = parseProcStat(readSmallFile("/proc/stat"));
    const auto processesBefore = allProcesses();
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(deviceSampleTime);
    const auto coresAfter = parseProcStat(readSmallFile("/proc/stat"));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto processesAfter = allProcesses();

    std::vector<DeviceUse> uses;
    for (const DeviceRecord &record : machine.devices) {
        if (record.kind == "cpu") {
            const CoreList cores = parseCores(record.cores).value_or(CoreList{});
            double asking = 0;
            DeviceUse use{record, busyShare(coresBefore, coresAfter, cores), std::nullopt,
                          usersOf(cores, processesBefore, processesAfter, seconds, asking)};
            if (use.busy)
                use.busy = std::max(0.0, *use.busy - asking);
            keepLargest(use.users);
            uses.push_back(std::move(use));
            continue;
        }
        const auto &gpus = nvml->gpus();
        const auto found =
            std::find_if(gpus.begin(), gpus.end(), [&](const auto &gpu) { return gpu.uuid == record.uuid; });
        if (found != gpus.end())
            uses.push_back(gpuUse(record, *nvml, static_cast<std::size_t>(found - gpus.begin())));
    }
    return uses;
}

} // namespace lockstep::agent
