#pragma once
// A person's own recipes: dataHome()/recipes/NAME.json, in the form of the built-in ones. A file may be given to anybody.
#include <string>
#include <string_view>
#include <vector>

#include "launch/recipe.h"

namespace lockstep::core {

[[nodiscard]] std::string recipeShelf(); ///< the folder; it may not exist yet
/// Names of the saved ones, sorted.
[[nodiscard]] std::vector<std::string> savedRecipes();
[[nodiscard]] std::string savedRecipePath(std::string_view name);
/// "DP against DDP, LeNet" as a name for a file: lower-case letters, digits and '-'; never empty.
[[nodiscard]] std::string recipeNameFrom(std::string_view title);
/// Saves it under its title's name and returns that. A name that is taken, here or by a built-in one, is refused
/// unless `replace` (a built-in one is never replaced).
[[nodiscard]] Result<std::string> saveRecipe(Recipe recipe, std::string_view title, bool replace);
[[nodiscard]] Result<void> removeSavedRecipe(std::string_view name);
/// Writes it where the person says, for others; whole or not at all.
[[nodiscard]] Result<void> shareRecipe(const Recipe &recipe, const std::string &path);

} // namespace lockstep::core
