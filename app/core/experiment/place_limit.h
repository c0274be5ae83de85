// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::core {

/// The nodes and devices that all runs of a recipe, all of an experiment with its repeats, or all requests that are taken at once can
/// name: a text of a few bytes that names thousands of nodes is repeated by each run. 1,000 runs on 64 nodes of 8 GPUs name 577,000.
inline constexpr std::size_t mostPlaces = 600'000;

/// How many nodes and devices a configuration names.
[[nodiscard]] std::size_t placeCount(const RunConfig &config);

/// A bad argument if so many are more than mostPlaces. `whose`: "the first 20 runs".
[[nodiscard]] Result<void> roomForPlaces(std::size_t places, const std::string &whose);

} // namespace lockstep::core
