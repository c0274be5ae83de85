// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "ipc/error.h"
#include "trainer/comm/rank_environment.h"

namespace lockstep::trainer {

/// Opens the store through which the ranks find each other: in memory for one rank; a file; or TCP, served by rank 0 on
/// the master address only, or by the launcher. Blocks until the store is served, at most `limit`.
[[nodiscard]] Result<c10::intrusive_ptr<c10d::Store>> openStore(const RankEnvironment &env,
                                                                std::chrono::milliseconds limit);

} // namespace lockstep::trainer
