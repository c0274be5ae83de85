// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/resolve.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

// What a launch plan needs if its run has several nodes.

/// This node's part according to the configuration's places. The address to listen on is still missing.
[[nodiscard]] NodesPlan nodesOf(const RunConfig &config, int node);
/// Fills in this node's part from `lockstep-agent run`'s options. On node 0, an interface or address that this machine
/// does not have is an error.
[[nodiscard]] Result<void> joinByOptions(LaunchPlan &plan, const CommandOptions &options);
/// Whether somebody listens at one of the addresses. Blocks for at most a second for each. `ended` is asked after each that does not
/// answer, and the error that it gives ends this.
[[nodiscard]] Result<bool> somebodyListens(const std::vector<NetAddress> &addresses,
                                           const std::function<std::optional<Error>()> &ended);
/// Waits until agent 0 listens, at the address of the plan or of join.json in a shared run folder, and fills in address
/// and token. Call it before this node makes a folder of its own. A signal or the time-out ends it with an error.
[[nodiscard]] Result<void> waitForAgent0(LaunchPlan &plan);
/// Fills in what is known once all nodes have joined: the ranks here are `firstRank` and up, of `worldSize`.
void placeRanks(LaunchPlan &plan, int firstRank, int worldSize);

/// A device name that is unique among the nodes: "node1/cpu:0". The UUID of a GPU is unique already.
[[nodiscard]] std::string nameApart(const std::string &device, int node);
/// The node in such a name. Absent: it names none.
[[nodiscard]] std::optional<int> nodeInName(const std::string &device);
/// The name on the device's own machine: "cpu:0" for "node1/cpu:0".
[[nodiscard]] std::string localName(const std::string &device);
/// Sets the environment variables that name the interface for Gloo and NCCL inside torch.
void nameInterface(const std::string &interface, std::vector<std::pair<std::string, std::string>> &environment);

} // namespace lockstep::agent
