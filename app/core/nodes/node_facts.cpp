// SPDX-License-Identifier: MIT
#include "nodes/node_facts.h"
#include "ipc/documents.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/command_prefix.h"
#include "ipc/thousands.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

using documents::optionalIn;
using documents::valueIn;

Json part(const Json &json, const char *key) {
    return valueIn(json, key, Json::object());
}
std::vector<std::string> texts(const Json &json, const char *key) {
    return valueIn(json, key, std::vector<std::string>());
}

NodeFacts::Limit limit(const Json &json) {
    return {optionalIn<std::int64_t>(json, "soft"), optionalIn<std::int64_t>(json, "hard")};
}

NodeFacts::Interface interface(const Json &json) {
    NodeFacts::Interface one;
    one.name = valueIn(json, "name", "");
    one.state = valueIn(json, "state", "");
    one.mtu = optionalIn<int>(json, "mtu");
    one.speedMbit = optionalIn<int>(json, "speed_mbit");
    one.loopback = valueIn(json, "loopback", false);
    one.real = valueIn(json, "real", false);
    return one;
}

void takeInterfaces(NodeFacts &facts, const Json &list) {
    constexpr std::size_t longestAddress = 64; // "fe80::…%interface"
    std::size_t addresses = 0;
    for (const Json &json : list) {
        NodeFacts::Interface one = interface(json);
        if (facts.interfaces.size() == mostInterfaces || !isInterfaceName(one.name)) {
            ++facts.interfacesLeftOut;
            continue;
        }
        for (std::string &address : texts(json, "addresses"))
            if (addresses < mostAddresses && isPlainWord(address, longestAddress)) {
                one.addresses.push_back(std::move(address));
                ++addresses;
            } else {
                ++facts.addressesLeftOut;
            }
        facts.interfaces.push_back(std::move(one));
    }
}

NodeFacts::Gpu gpu(const Json &json) {
    NodeFacts::Gpu one;
    one.uuid = valueIn(json, "uuid", "");
    one.name = valueIn(json, "name", "");
    one.computeCapability = valueIn(json, "compute_capability", "");
    one.busy = optionalIn<double>(json, "busy");
    one.memoryUsedBytes = optionalIn<double>(json, "memory_used_bytes");
    one.memoryTotalBytes = optionalIn<double>(json, "memory_total_bytes");
    one.temperatureC = optionalIn<double>(json, "temperature_c");
    one.throttle = texts(json, "throttle");
    one.pcieWidth = optionalIn<int>(json, "pcie_width");
    one.pcieWidthMax = optionalIn<int>(json, "pcie_width_max");
    one.pcieGeneration = optionalIn<int>(json, "pcie_generation");
    one.pcieGenerationMax = optionalIn<int>(json, "pcie_generation_max");
    for (const Json &peer : valueIn(json, "peer_to_peer", Json::array()))
        one.peerToPeer.push_back(peer.is_boolean() ? std::optional(peer.get<bool>()) : std::nullopt);
    return one;
}

} // namespace

bool isInterfaceName(std::string_view name) {
    constexpr std::size_t longestName = 15;
    return !name.empty() && isPlainWord(name, longestName) &&
           name.find_first_of(" /'\"\\$;`") == std::string_view::npos;
}

Result<NodeFacts> nodeFactsFromJson(std::string_view line) {
    try {
        const Json json = documents::objectIn(line);
        if (valueIn(json, "type", "") != "node")
            throw std::runtime_error("not a node's line");
        NodeFacts facts;
        facts.host = valueIn(json, "host", "");
        facts.arch = valueIn(json, "arch", "");
        facts.os = valueIn(json, "os", "");
        facts.kernel = valueIn(json, "kernel", "");
        facts.glibc = valueIn(json, "glibc", "");
        facts.cpuModel = valueIn(json, "cpu_model", "");
        facts.allowedCores = valueIn(json, "allowed_cores", "");
        facts.allowedCoreCount = valueIn(json, "allowed_core_count", 0);
        facts.gpuDriver = valueIn(json, "gpu_driver", "");
        facts.agent = valueIn(json, "agent", "");
        const Json trainer = part(json, "trainer");
        facts.trainer = valueIn(trainer, "version", "");
        facts.torch = valueIn(trainer, "torch", "");
        facts.torchFolder = valueIn(trainer, "torch_folder", "");
        facts.nccl = valueIn(trainer, "nccl", "");
        facts.trainerProblem = valueIn(trainer, "problem", "");
        facts.threads = optionalIn<int>(json, "threads");
        facts.load1min = optionalIn<double>(json, "load_1min");
        facts.cpuBusy = optionalIn<double>(json, "cpu_busy");
        const Json memory = part(json, "memory"), disk = part(json, "disk"), limits = part(json, "limits");
        facts.memoryTotalBytes = optionalIn<double>(memory, "total_bytes");
        facts.memoryAvailableBytes = optionalIn<double>(memory, "available_bytes");
        facts.home = valueIn(disk, "home", "");
        facts.homeWritable = valueIn(disk, "writable", true);
        facts.diskTotalBytes = optionalIn<double>(disk, "total_bytes");
        facts.diskFreeBytes = optionalIn<double>(disk, "free_bytes");
        facts.nofile = limit(part(limits, "nofile"));
        facts.memlock = limit(part(limits, "memlock"));
        takeInterfaces(facts, valueIn(json, "interfaces", Json::array()));
        facts.rdma = texts(json, "rdma");
        const Json gpus = valueIn(json, "gpus", Json::array());
        if (gpus.size() > mostGpus)
            throw std::runtime_error("it names " + thousands(std::int64_t(gpus.size())) + " GPUs, and a node has " +
                                     thousands(std::int64_t(mostGpus)) + " at most");
        for (const Json &one : gpus)
            facts.gpus.push_back(gpu(one));
        facts.wallUs = valueIn(json, "wall_us", std::int64_t{0});
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
