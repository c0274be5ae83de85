// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {
class FrameSender;
struct Placement;
struct RankEnvironment;

/// Trains as one rank, from its place among the others to its summary, on the thread that calls it; the code to exit with. The
/// one place where torch's exceptions end: an error has been sent as a frame when this returns.
[[nodiscard]] Result<int> runRank(const RunConfig &config, const RankEnvironment &env, const Placement &placement,
                                  FrameSender &frames);

} // namespace lockstep::trainer
