// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {
class FrameSender;
struct Placement;
struct RankEnvironment;

/// Trains as one rank, from finding the other ranks to the summary, on the calling thread. Returns the exit code. Torch's
/// exceptions are caught only here; an error has been sent as a frame when this returns. `giveUp` must end the process: it is called from
/// another thread, with an error that has been sent as well, where the calling thread would wait for a lost rank without end.
[[nodiscard]] Result<int> runRank(const RunConfig &config, const RankEnvironment &env, const Placement &placement,
                                  FrameSender &frames, const std::function<void(const Error &)> &giveUp);

} // namespace lockstep::trainer
