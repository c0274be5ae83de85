// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace lockstep::trainer {

/// Where Gloo listens: on a named interface, else on a host address. NCCL uses the interface too, if one is named.
struct GlooPlace {
    std::string interface, address;
    /// Time-out of connecting and of each call; absent: c10d's default.
    std::optional<std::chrono::milliseconds> limit = {};
};

/// Number of threads that run Gloo's collectives, in the order of the requests; c10d's default.
inline constexpr int glooThreads = 2;

/// c10d's backends, each in a file of its own because of the headers it needs. They throw what c10d throws.
[[nodiscard]] c10::intrusive_ptr<c10d::Backend> makeGloo(const c10::intrusive_ptr<c10d::Store> &store, int rank,
                                                         int size, const GlooPlace &place);
/// Throws when there is no CUDA (trainer/comm/gpus.cpp loads it).
[[nodiscard]] c10::intrusive_ptr<c10d::Backend> makeNccl(const c10::intrusive_ptr<c10d::Store> &store, int rank,
                                                         int size);

} // namespace lockstep::trainer
