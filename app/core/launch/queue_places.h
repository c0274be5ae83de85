#pragma once
// A recipe for the machine on which its queue will live. Pure.
#include <string>
#include <utility>
#include <vector>

#include "launch/recipe.h"

namespace lockstep::core {

/// Places as that machine (`host`, as ssh knows it from here) has to read them: its own are "this machine" there, all others keep
/// their names. A place on the machine that asks is refused: that one could not leave.
[[nodiscard]] Result<std::vector<NodePlace>> placesSeenFrom(const std::string &host, std::vector<NodePlace> places);

/// All places of a recipe, and of "nodes" among the settings, likewise. Every mistake once.
struct QueuedRecipe {
    Recipe recipe;
    std::vector<std::pair<std::string, std::string>> set;
};
[[nodiscard]] tl::expected<QueuedRecipe, std::vector<Error>> recipeSeenFrom(const std::string &host, QueuedRecipe here);

/// What the other machines are called, each once, with the agent that is named there: who keeps the queue has to reach them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> otherHosts(const std::vector<RunConfig> &configs);

} // namespace lockstep::core
