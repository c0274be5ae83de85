// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "ipc/cores.h"
#include "ipc/error.h"
#include "ipc/run_config.h"
#include "trainer/comm/rank_environment.h"
#include "trainer/strategies/compute_device.h"

namespace lockstep::trainer {

/// Where this process trains.
struct Placement {
    std::vector<ComputeDevice> devices; ///< one; DP: all of them
    std::vector<std::string> names;     ///< "cpu:0" or the GPU's UUID, one a device
    CoreList cores;                     ///< the process's own; empty for GPUs (not confined)
    int threads = 1;                    ///< intra-op threads a device
};

/// Where the config places this process's rank: checks that launcher, method and devices agree, fills in
/// --devices when a launcher started more ranks than it names by default. BadArgument says which disagree.
[[nodiscard]] Result<RunConfig> fitToLauncher(RunConfig config, const RankEnvironment &env);

/// This machine's devices for the config; the error says what is missing.
[[nodiscard]] Result<Placement> placeOnMachine(const RunConfig &config, const RankEnvironment &env);

/// Learning rate after --lr-rule, and samples a step of this process.
[[nodiscard]] double effectiveLr(const RunConfig &config, const RankEnvironment &env);
[[nodiscard]] std::int64_t processBatch(const RunConfig &config, const RankEnvironment &env);
/// Samples a step of all ranks together.
[[nodiscard]] std::int64_t runBatch(const RunConfig &config, const RankEnvironment &env);

} // namespace lockstep::trainer
