// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "ipc/error.h"
#include "trainer/agent/nodes/meeting_file.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

/// Another node's side of an interface meeting: tries every address of node 0, says which ones it has reached, and gives every
/// node's interface as node 0 has decided. A signal of a session ends it with an error. Blocks.
[[nodiscard]] Result<std::vector<std::string>> attendMeeting(const CommandOptions &options, Invitation invitation);

/// False: a signal that ends what an agent does came meanwhile.
[[nodiscard]] bool waitUnlessSignalled(std::chrono::milliseconds time);

} // namespace lockstep::agent
