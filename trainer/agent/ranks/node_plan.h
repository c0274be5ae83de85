// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

// What a launch plan has to know when its run has several nodes.

/// This node's part by the config's places. Where it listens is still to be filled in.
[[nodiscard]] NodesPlan nodesOf(const RunConfig &config, int node);
/// The same by `lockstep-agent run`'s options; for node 0 an interface or address that is not here is an error.
[[nodiscard]] Result<void> joinByOptions(LaunchPlan &plan, const CommandOptions &options);
/// Waits until agent 0 listens, by the plan's address and token or those of join.json in a shared run folder, and fills both
/// in. To be called before this node makes a folder of its own. A signal or the limit ends it with an error.
[[nodiscard]] Result<void> waitForAgent0(LaunchPlan &plan);
/// What all nodes together have come to: the ranks here are `firstRank` on, of `worldSize`.
void placeRanks(LaunchPlan &plan, int firstRank, int worldSize);

/// A device's name that no other node has: "node1/cpu:0"; a GPU's UUID is one already.
[[nodiscard]] std::string nameApart(const std::string &device, int node);
/// "cpu:0" of "node1/cpu:0": the name on its own machine.
[[nodiscard]] std::string localName(const std::string &device);
/// The interface for what finds it by these names: Gloo and NCCL inside torch.
void nameInterface(const std::string &interface, std::vector<std::pair<std::string, std::string>> &environment);

} // namespace lockstep::agent
