// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace lockstep::core {
struct PlannedRun;

/// The backend that the trainer will choose for a DDP run's gradients, and why: {"gloo", "nccl needs GPUs"}.
/// Empty for other methods and for scripts, which choose themselves.
struct BackendChoice {
    std::string name, reason;
};
[[nodiscard]] BackendChoice backendOf(const PlannedRun &run);

} // namespace lockstep::core
