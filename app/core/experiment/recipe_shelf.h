// SPDX-License-Identifier: MIT
#pragma once
// A person's own recipes: dataHome()/recipes/NAME.json, in the form of the built-in ones. Files can be shared.
#include <string>
#include <string_view>
#include <vector>

#include "experiment/recipe.h"

namespace lockstep::core {

[[nodiscard]] std::string recipeShelf(); ///< the folder; it may not exist yet
/// Names of the saved ones, sorted.
[[nodiscard]] std::vector<std::string> savedRecipes();
[[nodiscard]] std::string savedRecipePath(std::string_view name);
/// "DP against DDP, LeNet" as a file name: lower-case letters, digits and '-'; never empty.
[[nodiscard]] std::string recipeNameFrom(std::string_view title);
/// Saves it under the name of its title and returns that name. A name that is taken, here or by a built-in one, is
/// refused unless `replace` (a built-in one is never replaced).
[[nodiscard]] Result<std::string> saveRecipe(Recipe recipe, std::string_view title, bool replace);
[[nodiscard]] Result<void> removeSavedRecipe(std::string_view name);
/// Exports it to a file; atomic.
[[nodiscard]] Result<void> shareRecipe(const Recipe &recipe, const std::string &path);

} // namespace lockstep::core
