// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/utsname.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <sstream>

#include "ipc/cores.h"
#include "trainer/agent/devices/proc_files.h"
#include "trainer/agent/net/net_talk.h"
#include "trainer/agent/net/version.h"

namespace lockstep::agent {

namespace {

/// The value of the first line "key<separator>value" in `text`, without quotes.
std::string valueOf(const std::string &text, std::string_view key, char separator) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(key))
            continue;
        const auto at = line.find(separator);
        if (at == std::string::npos)
            continue;
        std::string value = line.substr(at + 1);
        value.erase(0, value.find_first_not_of(" \t\""));
        value.erase(value.find_last_not_of(" \t\"") + 1);
        return value;
    }
    return {};
}

void countCores(MachineRecord &record) {
    std::set<std::string> sockets;
    std::set<std::pair<std::string, std::string>> cores;
    const auto online = parseCores([] {
        std::string text = readSmallFile("/sys/devices/system/cpu/online");
        text.erase(text.find_last_not_of(" \n") + 1);
        return text;
    }());
    if (!online || online->empty())
        return;
    for (const int cpu : *online) {
        const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
        const std::string socket = readSmallFile(topology + "physical_package_id");
        const std::string core = readSmallFile(topology + "core_id");
        if (socket.empty() || core.empty())
            continue;
        sockets.insert(socket);
        cores.emplace(socket, core);
    }
    record.threads = static_cast<int>(online->size());
    if (!sockets.empty()) {
        record.sockets = static_cast<int>(sockets.size());
        record.cores = static_cast<int>(cores.size());
    }
}

void addDevices(MachineRecord &record, int coresPerDevice, const Nvml *nvml) {
    const CoreList allowed = allowedCores();
    for (int k = 0; k < cpuDeviceCount(coresPerDevice, allowed); ++k) {
        DeviceRecord device;
        device.device = "cpu:" + std::to_string(k);
        device.kind = "cpu";
        device.name = record.cpuModel;
        if (const auto cores = coresOfCpuDevice(k, coresPerDevice, allowed))
            device.cores = formatCores(*cores);
        record.devices.push_back(std::move(device));
    }
    if (!nvml)
        return;
    record.gpuDriver = nvml->driverVersion();
    for (const Nvml::Gpu &gpu : nvml->gpus()) {
        DeviceRecord device;
        device.device = device.uuid = gpu.uuid;
        device.kind = "cuda";
        device.name = gpu.name;
        device.memoryTotalBytes = gpu.memoryTotalBytes;
        record.devices.push_back(std::move(device));
    }
}

} // namespace

MachineFacts machineFacts(const Nvml *nvml) {
    MachineFacts facts;
    facts.allowedCores = allowedCores();
    if (nvml)
        for (const Nvml::Gpu &gpu : nvml->gpus())
            facts.gpuUuids.push_back(gpu.uuid);
    return facts;
}

std::vector<std::pair<std::string, std::string>> networkInterfaces() {
    std::vector<std::pair<std::string, std::string>> v4, v6;
    ifaddrs *list = nullptr;
    if (::getifaddrs(&list) != 0)
        return v4;
    for (const ifaddrs *entry = list; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP))
            continue;
        const int family = entry->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6)
            continue;
        const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        if (const std::string address = numericAddress(entry->ifa_addr, length); !address.empty())
            (family == AF_INET ? v4 : v6).emplace_back(entry->ifa_name, address);
    }
    ::freeifaddrs(list);
    v4.insert(v4.end(), v6.begin(), v6.end());
    return v4;
}

MachineRecord takeMachineRecord(int node, int coresPerDevice, const Nvml *nvml) {
    MachineRecord record;
    record.node = node;
    record.host = hostName();
    record.os = valueOf(readSmallFile("/etc/os-release"), "PRETTY_NAME", '=');
    utsname kernel{};
    if (::uname(&kernel) == 0)
        record.kernel = kernel.release;
    record.cpuModel = valueOf(readSmallFile("/proc/cpuinfo"), "model name", ':');
    countCores(record);
    record.allowedCores = formatCores(allowedCores());
    const std::string memory = valueOf(readSmallFile("/proc/meminfo"), "MemTotal", ':');
    unsigned long long kib = 0;
    if (std::sscanf(memory.c_str(), "%llu kB", &kib) == 1)
        record.memoryTotalBytes = static_cast<double>(kib) * 1024.0;
    addDevices(record, coresPerDevice, nvml);
    record.agentVersion = agentVersion();
    record.interfaces = networkInterfaces();
    return record;
}

} // namespace lockstep::agent
