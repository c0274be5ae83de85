// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

struct RunConfig;

enum class BackendReason : std::uint8_t {
    AsChosen,       ///< the configuration names it
    CpuDevices,     ///< no rank has a GPU
    SomeCpuDevices, ///< some ranks have a GPU, others don't
    SharedGpu,      ///< two ranks have the same GPU
    GpuEach         ///< each rank has a GPU to itself
};

/// The library that carries the gradients: "gloo" or "nccl".
struct BackendRule {
    std::string name;
    BackendReason reason;
};

/// What `wanted` (auto, gloo or nccl) means for ranks with these GPUs: one name per rank, empty for a CPU device. NCCL
/// needs GPUs and allows one rank per GPU, so auto means nccl if each rank has a GPU to itself, else gloo.
[[nodiscard]] BackendRule backendFor(std::string_view wanted, std::span<const std::string> gpus);

/// The same for a run, as far as its configuration shows: only the ranks notice that two names mean the same GPU.
/// Meaningless for methods that send nothing between processes.
[[nodiscard]] BackendRule backendInEffect(const RunConfig &config);

/// Why a run of this configuration can't train on GPUs; empty: it can.
[[nodiscard]] std::string_view whyNotOnGpus(const RunConfig &config);

} // namespace lockstep
