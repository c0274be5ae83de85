// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "ipc/error.h"
#include "trainer/agent/nodes/discovery_file.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

/// The side of a node K > 0 of interface discovery: tries every address of node 0 and reports which ones it has
/// reached. Returns every node's interface as node 0 has chosen it. A session signal ends it with an error. Blocks.
[[nodiscard]] Result<std::vector<std::string>> joinDiscovery(const CommandOptions &options, Invitation invitation);

/// Waits; false if a session signal came meanwhile.
[[nodiscard]] bool waitUnlessSignalled(std::chrono::milliseconds time);

} // namespace lockstep::agent
