// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "ipc/error.h"
#include "ipc/frames.h"
#include "ipc/node_messages.h"
#include "ipc/run_folder.h"
#include "trainer/agent/log/epoch_numbers.h"

namespace lockstep::agent {

// What another node's agent reports, as far as agent 0 believes it, and what it believes of agent 0. Pure functions, for any thread.

/// Devices that a node may list, and interfaces: 64 nodes with as many are a record that can be read.
inline constexpr std::size_t mostDevicesOfNode = 1024;

/// Whether the node may join so. The error says what it lists that it may not.
[[nodiscard]] Result<void> checkJoin(int node, const NodeMessage &join);
/// What of its ranks, devices and folder is other when the same agent joins again: "2 ranks instead of 1". Empty: nothing.
[[nodiscard]] std::string changeInJoin(const NodeMessage &first, const NodeMessage &again);
/// Whether agent 0 may number a further node's ranks from `firstRank` on, in a run of `worldSize` ranks.
[[nodiscard]] Result<void> checkPlace(int firstRank, int worldSize, int ranks);
/// A device in the frame that is neither named after the node nor listed in its join.
[[nodiscard]] std::optional<std::string> otherDeviceIn(const Frame &frame, int node, const NodeMessage &join);

/// With codes of a failure: `exit_code` is exitFailed or exitBadArguments (to start the ranks again would be no use), `code` from 1 to 255,
/// `signal` from 1 to 64. A code that is none of these becomes exitFailed, and a signal that is none is left out.
[[nodiscard]] NodeMessage soundFailure(NodeMessage failed);
/// With a state that is an end, and its exit code. An unknown state is a failure.
[[nodiscard]] NodeMessage soundEnd(NodeMessage over);
/// How the frame's rank ended, with a host's name of longestReportedName bytes at most and the signal's own name.
[[nodiscard]] RankExit soundExit(int rank, const ExitFrame &exit);
/// The lesser of what was made here and what `gone` says of its node: between nothing and what was made here.
[[nodiscard]] EpochNumbers::Made lesserMade(const EpochNumbers::Made &here, const NodeMessage &gone);

/// Without what is beyond longestReportedName bytes.
[[nodiscard]] std::string shortName(std::string name);

} // namespace lockstep::agent
