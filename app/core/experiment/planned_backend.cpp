// SPDX-License-Identifier: MIT
#include "experiment/planned_backend.h"

#include <string_view>
#include <utility>

#include "experiment/plan.h"
#include "ipc/backend_rule.h"

namespace lockstep::core {

namespace {

std::string_view wordsOf(BackendReason reason) {
    switch (reason) {
    case BackendReason::AsChosen:
        break;
    case BackendReason::CpuDevices:
        return "nccl needs GPUs";
    case BackendReason::SomeCpuDevices:
        return "nccl needs GPUs, some devices are CPU cores";
    case BackendReason::SharedGpu:
        return "nccl needs one GPU per rank, but ranks share one here";
    case BackendReason::GpuEach:
        return "each rank has its own GPU";
    }
    return "as chosen";
}

} // namespace

BackendChoice backendOf(const PlannedRun &run) {
    const RunConfig &config = run.config;
    if (!isDistributed(config.method) || !run.command.empty())
        return {};
    BackendRule rule = backendInEffect(config);
    return {std::move(rule.name), std::string(wordsOf(rule.reason))};
}

} // namespace lockstep::core
