// SPDX-License-Identifier: MIT
#pragma once
// Rewrites a recipe for the machine that will run its queue. Pure.
#include <string>
#include <utility>
#include <vector>

#include "experiment/recipe.h"

namespace lockstep::core {

/// Places as that machine (`host`, its ssh name here) must read them: its own become "this machine", all others keep
/// their names. A place on the requesting machine is refused: it could not be switched off.
[[nodiscard]] Result<std::vector<NodePlace>> placesSeenFrom(const std::string &host, std::vector<NodePlace> places);

/// The same for all places of a recipe and of "nodes" among the settings. Reports every mistake once.
struct QueuedRecipe {
    Recipe recipe;
    std::vector<std::pair<std::string, std::string>> set;
};
[[nodiscard]] tl::expected<QueuedRecipe, std::vector<Error>> recipeSeenFrom(const std::string &host, QueuedRecipe here);

/// The other machines, each once, with its agent: the queue's machine must reach them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> otherHosts(const std::vector<RunConfig> &configs);

} // namespace lockstep::core
