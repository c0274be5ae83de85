// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "trainer/comm/backends.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_environment.h"

namespace lockstep::trainer {

/// The backend that `wanted` (auto, gloo, nccl) means for ranks that train on `device`, named `deviceName`. NCCL refuses two
/// ranks on one GPU, so auto takes it only where each rank has its own; the log says why not. All ranks call it, before
/// connect(). BadArgument where nccl is asked for and can't be.
[[nodiscard]] Result<std::string> chooseBackend(Communicator &communicator, const std::string &wanted,
                                                c10::Device device, const std::string &deviceName);

/// Where Gloo listens: the interface that was named, loopback on one node, else the address towards the master.
[[nodiscard]] GlooPlace glooPlaceOf(const RankEnvironment &env, const std::string &interface);

} // namespace lockstep::trainer
