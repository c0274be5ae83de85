// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "trainer/comm/backends.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/rank_environment.h"

namespace lockstep::trainer {

/// The backend that `wanted` (auto, gloo or nccl) means for ranks that train on `device`, named `deviceName`. NCCL
/// refuses two ranks on one GPU, so auto chooses it only if each rank has a GPU to itself; otherwise the log says why
/// not. Call it on all ranks, before connect(). BadArgument if nccl is requested but impossible.
[[nodiscard]] Result<std::string> chooseBackend(Communicator &communicator, const std::string &wanted,
                                                c10::Device device, const std::string &deviceName);

/// Where Gloo listens: on the named interface; without one on loopback for a single node, else on the address that
/// reaches the master.
[[nodiscard]] GlooPlace glooPlaceOf(const RankEnvironment &env, const std::string &interface);

} // namespace lockstep::trainer
