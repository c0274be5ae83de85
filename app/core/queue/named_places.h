// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>
#include <vector>

#include "base/command_prefix.h"
#include "ipc/error.h"

namespace lockstep::core {
struct Experiment;

/// The places (nodes/known_places.h) at which an experiment starts runs, each once; this machine is left out. Not of all
/// nodes: only those at which it follows them, where agent 0 of each run is.
[[nodiscard]] std::vector<CommandPrefix> placesOf(const Experiment &experiment, bool ofAllNodes = true);
/// Remembers them, for an experiment that this user has just described.
[[nodiscard]] Result<void> rememberPlaces(const Experiment &experiment);

/// The places that the folder of this run or experiment names and that are not known: whoever follows it asks first.
[[nodiscard]] std::vector<CommandPrefix> unknownPlacesOf(std::string_view id);
/// Fails with the question about them.
[[nodiscard]] Result<void> checkPlacesOf(std::string_view id);
/// This user's "yes": remembers all of them.
[[nodiscard]] Result<void> acceptPlacesOf(std::string_view id);

} // namespace lockstep::core
