// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace lockstep::trainer {

/// UUIDs ("GPU-…") of the GPUs this process may use, in CUDA's order; empty without CUDA or GPUs.
[[nodiscard]] std::vector<std::string> visibleGpus();

} // namespace lockstep::trainer
