#pragma once
#include <string>

namespace lockstep::core {
struct PlannedRun;

/// What carries a DDP run's gradients, as the trainer will choose it, and why: {"gloo", "nccl takes GPUs, and …"}. Empty for
/// other methods and for scripts, which choose by themselves.
struct BackendChoice {
    std::string name, reason;
};
[[nodiscard]] BackendChoice backendOf(const PlannedRun &run);

} // namespace lockstep::core
