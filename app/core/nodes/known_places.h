// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/command_prefix.h"
#include "ipc/error.h"

namespace lockstep::core {

/// A place is a program of ours on another machine. The folder of a run or of an experiment names the place where it is
/// followed, and such a folder may be somebody else's. So a program is started only at a place that this user has named:
/// in the list of nodes (node_book.h), in a command of their own, or in answer to the question of unknownPlaces(). Places named in commands and answers are in
/// dataHome()/known_places.json:
///   {"places":[{"host":"hostA","program":"/…/lockstep-agent"}]}
/// lockstepctl counts as the agent in the same folder. All jobs of Slurm are one host: srun enters only this user's own. There this
/// installation's own agent is known, by its path without links.
[[nodiscard]] bool isKnownPlace(const CommandPrefix &prefix); ///< this machine always is
/// Those that are not known, in order. It reads the files once, however many places there are.
[[nodiscard]] std::vector<CommandPrefix> unknownOf(std::vector<CommandPrefix> places);
/// Adds a place that the user has just named. Waits up to a second for another process that is doing the same.
[[nodiscard]] Result<void> rememberPlace(const CommandPrefix &prefix);
[[nodiscard]] Result<void> rememberPlaces(const std::vector<CommandPrefix> &places); ///< all or none
/// "/opt/bin/lockstep-agent on hostA, …"
[[nodiscard]] std::string placesText(const std::vector<CommandPrefix> &places);
/// Says what following `what` ("run ID") would start, and where; its way out is `attach ID --connect`.
[[nodiscard]] Error unknownPlaces(std::string_view what, std::string_view id, const std::vector<CommandPrefix> &places);

} // namespace lockstep::core
