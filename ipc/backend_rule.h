// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

struct RunConfig;

enum class BackendReason : std::uint8_t {
    AsChosen,       ///< the config names it
    CpuDevices,     ///< no rank has a GPU
    SomeCpuDevices, ///< some ranks have a GPU and some don't
    SharedGpu,      ///< two ranks have the same GPU
    GpuEach         ///< each rank has a GPU of its own
};

/// What carries the gradients: "gloo" or "nccl".
struct BackendRule {
    std::string name;
    BackendReason reason;
};

/// What `wanted` (auto, gloo, nccl) means for ranks with these GPUs, one text a rank; empty: a CPU device. NCCL works on GPUs
/// only and takes one rank a GPU, so auto is nccl where each rank has a GPU of its own, else gloo.
[[nodiscard]] BackendRule backendFor(std::string_view wanted, std::span<const std::string> gpus);

/// The same for a run, as far as its config tells: two names of one GPU are found out by the ranks only. Without meaning for
/// methods that send nothing between processes.
[[nodiscard]] BackendRule backendInEffect(const RunConfig &config);

} // namespace lockstep
