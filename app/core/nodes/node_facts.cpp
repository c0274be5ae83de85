// SPDX-License-Identifier: MIT
#include "nodes/node_facts.h"
#include "ipc/documents.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

template <class T> std::optional<T> number(const Json &json, const char *key) {
    return json.contains(key) && json[key].is_number() ? std::optional(json[key].get<T>()) : std::nullopt;
}
std::string text(const Json &json, const char *key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}
std::vector<std::string> texts(const Json &json, const char *key) {
    std::vector<std::string> out;
    if (json.contains(key) && json[key].is_array())
        for (const Json &one : json[key])
            if (one.is_string())
                out.push_back(one.get<std::string>());
    return out;
}
Json part(const Json &json, const char *key) {
    return json.contains(key) && json[key].is_object() ? json[key] : Json::object();
}

NodeFacts::Limit limit(const Json &json) {
    return {number<std::int64_t>(json, "soft"), number<std::int64_t>(json, "hard")};
}

NodeFacts::Interface interface(const Json &json) {
    NodeFacts::Interface one;
    one.name = text(json, "name");
    one.state = text(json, "state");
    one.addresses = texts(json, "addresses");
    one.mtu = number<int>(json, "mtu");
    one.speedMbit = number<int>(json, "speed_mbit");
    one.loopback = json.value("loopback", false);
    one.real = json.value("real", false);
    return one;
}

NodeFacts::Gpu gpu(const Json &json) {
    NodeFacts::Gpu one;
    one.uuid = text(json, "uuid");
    one.name = text(json, "name");
    one.computeCapability = text(json, "compute_capability");
    one.busy = number<double>(json, "busy");
    one.memoryUsedBytes = number<double>(json, "memory_used_bytes");
    one.memoryTotalBytes = number<double>(json, "memory_total_bytes");
    one.temperatureC = number<double>(json, "temperature_c");
    one.throttle = texts(json, "throttle");
    one.pcieWidth = number<int>(json, "pcie_width");
    one.pcieWidthMax = number<int>(json, "pcie_width_max");
    one.pcieGeneration = number<int>(json, "pcie_generation");
    one.pcieGenerationMax = number<int>(json, "pcie_generation_max");
    if (json.contains("peer_to_peer") && json["peer_to_peer"].is_array())
        for (const Json &peer : json["peer_to_peer"])
            one.peerToPeer.push_back(peer.is_boolean() ? std::optional(peer.get<bool>()) : std::nullopt);
    return one;
}

} // namespace

Result<NodeFacts> nodeFactsFromJson(std::string_view line) {
    try {
        const Json json = documents::objectIn(line);
        if (text(json, "type") != "node")
            throw std::runtime_error("not a node's line");
        NodeFacts facts;
        facts.host = text(json, "host");
        facts.arch = text(json, "arch");
        facts.os = text(json, "os");
        facts.kernel = text(json, "kernel");
        facts.glibc = text(json, "glibc");
        facts.cpuModel = text(json, "cpu_model");
        facts.allowedCores = text(json, "allowed_cores");
        facts.allowedCoreCount = json.value("allowed_core_count", 0);
        facts.gpuDriver = text(json, "gpu_driver");
        facts.agent = text(json, "agent");
        const Json trainer = part(json, "trainer");
        facts.trainer = text(trainer, "version");
        facts.torch = text(trainer, "torch");
        facts.torchFolder = text(trainer, "torch_folder");
        facts.nccl = text(trainer, "nccl");
        facts.trainerProblem = text(trainer, "problem");
        facts.threads = number<int>(json, "threads");
        facts.load1min = number<double>(json, "load_1min");
        facts.cpuBusy = number<double>(json, "cpu_busy");
        const Json memory = part(json, "memory"), disk = part(json, "disk"), limits = part(json, "limits");
        facts.memoryTotalBytes = number<double>(memory, "total_bytes");
        facts.memoryAvailableBytes = number<double>(memory, "available_bytes");
        facts.home = text(disk, "home");
        facts.homeWritable = disk.value("writable", true);
        facts.diskTotalBytes = number<double>(disk, "total_bytes");
        facts.diskFreeBytes = number<double>(disk, "free_bytes");
        facts.nofile = limit(part(limits, "nofile"));
        facts.memlock = limit(part(limits, "memlock"));
        if (json.contains("interfaces") && json["interfaces"].is_array())
            for (const Json &one : json["interfaces"])
                facts.interfaces.push_back(interface(one));
        facts.rdma = texts(json, "rdma");
        if (json.contains("gpus") && json["gpus"].is_array())
            for (const Json &one : json["gpus"])
                facts.gpus.push_back(gpu(one));
        facts.wallUs = number<std::int64_t>(json, "wall_us").value_or(0);
        return facts;
    } catch (const std::exception &exception) {
        return fail(Error::failed(std::string("lockstep-agent's report of its node is not valid: ") + exception.what(),
                                  "update it: lockstepctl nodes sync"));
    }
}

const NodeFacts::Interface *findInterface(const NodeFacts &facts, std::string_view name) {
    const auto found = std::find_if(facts.interfaces.begin(), facts.interfaces.end(),
                                    [&](const auto &one) { return one.name == name; });
    return found == facts.interfaces.end() ? nullptr : &*found;
}

const NodeFacts::Interface *interfaceOf(const NodeFacts &facts, std::string_view address) {
    const auto found = std::find_if(facts.interfaces.begin(), facts.interfaces.end(), [&](const auto &one) {
        return std::find(one.addresses.begin(), one.addresses.end(), address) != one.addresses.end();
    });
    return found == facts.interfaces.end() ? nullptr : &*found;
}

} // namespace lockstep::core
