// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/gathered_node_facts.h"

#include <gnu/libc-version.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "ipc/clock.h"
#include "ipc/cores.h"
#include "ipc/disk_space.h"
#include "ipc/documents.h"
#include "ipc/json_or_null.h"
#include "ipc/run_folder.h"
#include "trainer/agent/devices/machine.h"
#include "trainer/agent/net/net_talk.h"
#include "trainer/agent/net/version.h"
#include "trainer/agent/ranks/programs.h"

namespace lockstep::agent {

namespace {

using Json = nlohmann::ordered_json;

std::string sysWord(const std::string &path) {
    std::string text = readSmallFile(path);
    text.erase(text.find_last_not_of(" \n") + 1);
    return text;
}

std::optional<int> sysNumber(const std::string &path) {
    const std::string text = sysWord(path);
    const long value = text.empty() ? -1 : std::strtol(text.c_str(), nullptr, 10);
    return value > 0 ? std::optional(static_cast<int>(value)) : std::nullopt; // speed is -1 if there is none
}

bool isLinkLocal(const sockaddr *address) {
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr);
}

Json limitJson(int which) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource>(which), &limit) != 0)
        return {{"soft", nullptr}, {"hard", nullptr}};
    const auto number = [](rlim_t value) { return value == RLIM_INFINITY ? Json(-1) : Json(value); };
    return {{"soft", number(limit.rlim_cur)}, {"hard", number(limit.rlim_max)}};
}

/// The file system that holds the data home, or will hold it once it is created.
Json diskJson() {
    std::filesystem::path folder = dataHome();
    std::error_code error;
    while (!std::filesystem::exists(folder, error) && folder.has_parent_path() && folder != folder.parent_path())
        folder = folder.parent_path();
    Json json = {{"home", dataHome()}, {"writable", ::access(folder.c_str(), W_OK) == 0}};
    if (const auto disk = diskSpace(folder.string())) {
        json["total_bytes"] = disk->totalBytes;
        json["free_bytes"] = disk->freeBytes;
    }
    return json;
}

Json memoryJson() {
    Json json = Json::object();
    std::istringstream lines(readSmallFile("/proc/meminfo"));
    for (std::string line; std::getline(lines, line);) {
        unsigned long long kib = 0;
        if (std::sscanf(line.c_str(), "MemTotal: %llu kB", &kib) == 1)
            json["total_bytes"] = static_cast<double>(kib) * 1024;
        else if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kib) == 1)
            json["available_bytes"] = static_cast<double>(kib) * 1024;
    }
    return json;
}

Json gpusJson(Nvml &nvml) {
    Json gpus = Json::array();
    for (std::size_t i = 0; i < nvml.gpus().size(); ++i) {
        const DeviceSample sample = nvml.sample(i);
        const Nvml::Link link = nvml.link(i);
        Json peers = Json::array();
        for (std::size_t k = 0; k < nvml.gpus().size(); ++k)
            peers.push_back(k == i ? Json(nullptr) : orNull(nvml.peerToPeer(i, k)));
        gpus.push_back({{"uuid", nvml.gpus()[i].uuid},
                        {"name", nvml.gpus()[i].name},
                        {"compute_capability", nvml.computeCapability(i)},
                        {"busy", orNull(sample.utilization)},
                        {"memory_used_bytes", orNull(sample.memoryUsedBytes)},
                        {"memory_total_bytes", orNull(sample.memoryTotalBytes)},
                        {"temperature_c", orNull(sample.temperatureC)},
                        {"throttle", sample.throttle},
                        {"pcie_width", orNull(link.pcieWidth)},
                        {"pcie_width_max", orNull(link.pcieWidthMax)},
                        {"pcie_generation", orNull(link.pcieGeneration)},
                        {"pcie_generation_max", orNull(link.pcieGenerationMax)},
                        {"peer_to_peer", std::move(peers)}});
    }
    return gpus;
}

Json interfacesJson() {
    Json all = Json::array();
    for (const InterfaceFacts &one : interfaceFacts())
        all.push_back({{"name", one.name},
                       {"state", one.state},
                       {"addresses", one.addresses},
                       {"mtu", orNull(one.mtu)},
                       {"speed_mbit", orNull(one.speedMbit)},
                       {"loopback", one.loopback},
                       {"real", one.real}});
    return all;
}

Json rdmaJson() {
    Json names = Json::array();
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator("/sys/class/infiniband", error))
        names.push_back(entry.path().filename().string());
    return names;
}

} // namespace

std::vector<InterfaceFacts> interfaceFacts() {
    std::vector<InterfaceFacts> all;
    ifaddrs *list = nullptr;
    if (::getifaddrs(&list) != 0)
        return all;
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs *)> held(list, ::freeifaddrs);
    const auto named = [&](const ifaddrs *entry) -> InterfaceFacts & {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const InterfaceFacts &one) { return one.name == entry->ifa_name; });
        if (found != all.end())
            return *found;
        const std::string folder = std::string("/sys/class/net/") + entry->ifa_name + "/";
        InterfaceFacts one;
        one.name = entry->ifa_name;
        one.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
        one.state = sysWord(folder + "operstate");
        if (one.state.empty() || one.state == "unknown")
            one.state = (entry->ifa_flags & IFF_UP) ? "up" : "down";
        one.mtu = sysNumber(folder + "mtu");
        one.speedMbit = sysNumber(folder + "speed");
        one.real = ::access((folder + "device").c_str(), F_OK) == 0;
        all.push_back(std::move(one));
        return all.back();
    };
    for (const int family : {AF_PACKET, AF_INET, AF_INET6})
        for (const ifaddrs *entry = list; entry; entry = entry->ifa_next) {
            if (!entry->ifa_addr || entry->ifa_addr->sa_family != family)
                continue;
            InterfaceFacts &interface = named(entry);
            if (family == AF_PACKET || isLinkLocal(entry->ifa_addr))
                continue;
            const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
            if (const std::string address = numericAddress(entry->ifa_addr, length); !address.empty())
                interface.addresses.emplace_back(address);
        }
    return all;
}

TrainerQuestion::TrainerQuestion() {
    const auto trainer = findTrainer();
    if (!trainer) {
        m_problem = trainer.error().message();
        return;
    }
    m_trainer = *trainer;
    // The shell gets only text of our own, quoted. timeout(1) is part of coreutils, which every node has: a trainer
    // that hangs in a driver must not hang the agent.
    std::string quoted;
    for (const char c : m_trainer)
        quoted += c == '\'' ? std::string("'\"'\"'") : std::string(1, c);
    m_pipe = ::popen(("timeout 20 '" + quoted + "' --facts 2>&1 </dev/null").c_str(), "re");
}

TrainerQuestion::~TrainerQuestion() {
    if (m_pipe)
        ::pclose(m_pipe);
}

TrainerFacts TrainerQuestion::answer() {
    TrainerFacts facts;
    facts.problem = m_problem;
    if (!m_pipe)
        return facts;
    std::string said;
    char buffer[4096];
    while (said.size() < std::size_t{64 * 1024}) {
        const std::size_t size = std::fread(buffer, 1, sizeof buffer, m_pipe);
        if (size == 0)
            break;
        said.append(buffer, size);
    }
    ::pclose(std::exchange(m_pipe, nullptr));
    const auto json = documents::objectOrNull(said);
    if (!json.is_object()) {
        facts.problem = said.empty() ? m_trainer + " printed nothing" : said.substr(0, said.find('\n'));
        return facts;
    }
    facts.version = documents::valueIn(json, "version", "");
    facts.torch = documents::valueIn(json, "torch", "");
    facts.torchFolder = documents::valueIn(json, "torch_folder", "");
    facts.nccl = documents::valueIn(json, "nccl", "");
    return facts;
}

std::int64_t nodeClockUs() {
    const char *offset = std::getenv("LOCKSTEP_TEST_CLOCK_OFFSET_S");
    return SystemClock().wallUs() + (offset ? static_cast<std::int64_t>(std::strtod(offset, nullptr) * 1e6) : 0);
}

NodeFacts::NodeFacts(int coresPerDevice) : m_coresPerDevice(coresPerDevice), m_nvml(Nvml::load()) {}

std::string NodeFacts::line() {
    if (!m_trainer)
        m_trainer = TrainerQuestion().answer();
    utsname kernel{};
    ::uname(&kernel);
    const MachineRecord record = takeMachineRecord(0, m_coresPerDevice, nullptr);
    Json json = {{"type", "node"},
                 {"host", record.host},
                 {"arch", kernel.machine},
                 {"os", record.os},
                 {"kernel", kernel.release},
                 {"glibc", ::gnu_get_libc_version()},
                 {"agent", agentVersion()},
                 {"trainer",
                  {{"version", m_trainer->version},
                   {"torch", m_trainer->torch},
                   {"torch_folder", m_trainer->torchFolder},
                   {"nccl", m_trainer->nccl},
                   {"problem", m_trainer->problem}}},
                 {"cpu_model", record.cpuModel},
                 {"threads", orNull(record.threads)},
                 {"allowed_cores", record.allowedCores},
                 {"allowed_core_count", allowedCores().size()}};
    std::array<double, 1> load{};
    json["load_1min"] = ::getloadavg(load.data(), 1) == 1 ? Json(load[0]) : Json(nullptr);
    const CoreTimesByCore times = parseProcStat(readSmallFile("/proc/stat"));
    json["cpu_busy"] = orNull(busyShare(m_times, times, allowedCores()));
    m_times = times;
    json["memory"] = memoryJson();
    json["disk"] = diskJson();
    json["limits"] = {{"nofile", limitJson(RLIMIT_NOFILE)}, {"memlock", limitJson(RLIMIT_MEMLOCK)}};
    json["interfaces"] = interfacesJson();
    json["rdma"] = rdmaJson();
    json["gpu_driver"] = m_nvml ? m_nvml->driverVersion() : "";
    json["gpus"] = m_nvml ? gpusJson(*m_nvml) : Json::array();
    json["wall_us"] = nodeClockUs();
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace lockstep::agent
