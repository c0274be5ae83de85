// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

/// The state of a node, as `lockstep-agent node` reports it. Unknown is empty or absent; bytes and shares (0..1) are
/// plain numbers.
struct NodeFacts {
    struct Interface {
        std::string name, state;            ///< "up", "down", …
        std::vector<std::string> addresses; ///< IPv4 before IPv6
        std::optional<int> mtu, speedMbit;
        bool loopback = false, real = false; ///< real: a physical device
    };
    struct Gpu {
        std::string uuid, name, computeCapability; ///< "7.5"
        std::optional<double> busy, memoryUsedBytes, memoryTotalBytes, temperatureC;
        std::vector<std::string> throttle;
        std::optional<int> pcieWidth, pcieWidthMax, pcieGeneration, pcieGenerationMax;
        std::vector<std::optional<bool>> peerToPeer; ///< with each GPU of the node; absent for itself and where unknown
    };
    struct Limit {
        std::optional<std::int64_t> soft, hard; ///< -1: unlimited
    };
    std::string host, arch, os, kernel, glibc, cpuModel, allowedCores, gpuDriver;
    std::string agent, trainer, torch, nccl, trainerProblem; ///< versions; why the trainer reported none
    std::string torchFolder;                                 ///< of the PyTorch that its trainer uses
    std::optional<int> threads;
    int allowedCoreCount = 0;
    std::optional<double> load1min, cpuBusy, memoryTotalBytes, memoryAvailableBytes;
    std::string home; ///< its data folder (LOCKSTEP_HOME)
    std::optional<double> diskTotalBytes, diskFreeBytes;
    bool homeWritable = true;
    Limit nofile, memlock;
    std::vector<Interface> interfaces; ///< mostInterfaces at most, and mostAddresses of them together
    /// What was left out of `interfaces`: those beyond the limits, and what is no name or no address.
    std::size_t interfacesLeftOut = 0, addressesLeftOut = 0;
    std::vector<std::string> rdma; ///< InfiniBand and RoCE devices
    std::vector<Gpu> gpus;
    std::int64_t wallUs = 0;
};

inline constexpr std::size_t mostGpus = 256; ///< of one node, slices of GPUs included: more than machines have
/// Of one node; more than machines have, and few enough that every node can try every address of every other one.
inline constexpr std::size_t mostInterfaces = 64, mostAddresses = 256;

/// As Linux has them, and nothing that a shell would not read as a single word.
[[nodiscard]] bool isInterfaceName(std::string_view name);

/// From one line. Missing keys stay unknown, so an older agent's line can be read too. One of more than mostGpus is refused.
[[nodiscard]] Result<NodeFacts> nodeFactsFromJson(std::string_view line);

[[nodiscard]] const NodeFacts::Interface *findInterface(const NodeFacts &facts, std::string_view name);
/// The interface that has this address.
[[nodiscard]] const NodeFacts::Interface *interfaceOf(const NodeFacts &facts, std::string_view address);

} // namespace lockstep::core
