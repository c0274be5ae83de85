// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {
class FrameSender;
struct Placement;
struct RankEnvironment;

/// Trains as one rank, from finding the other ranks to the summary, on the calling thread. Returns the exit code. Torch's
/// exceptions are caught only here; an error has been sent as a frame when this returns.
[[nodiscard]] Result<int> runRank(const RunConfig &config, const RankEnvironment &env, const Placement &placement,
                                  FrameSender &frames);

} // namespace lockstep::trainer
