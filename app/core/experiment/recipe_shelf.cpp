// SPDX-License-Identifier: MIT
#include "experiment/recipe_shelf.h"

#include <algorithm>
#include <filesystem>

#include <QDir>
#include <QFile>

#include "ipc/file_system.h"
#include "ipc/run_folder.h"

namespace lockstep::core {
namespace {

constexpr std::size_t longestName = 60;

bool isPlainName(std::string_view name) {
    return !name.empty() && name.size() <= longestName &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

} // namespace

std::string recipeShelf() {
    return dataHome() + "/recipes";
}

std::vector<std::string> savedRecipes() {
    std::vector<std::string> names;
    for (const QString &file :
         QDir(QString::fromStdString(recipeShelf())).entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name))
        if (const std::string name = file.chopped(5).toStdString(); isPlainName(name))
            names.push_back(name);
    return names;
}

std::string savedRecipePath(std::string_view name) {
    return recipeShelf() + "/" + std::string(name) + ".json";
}

std::string recipeNameFrom(std::string_view title) {
    std::string name;
    for (const char c : title) {
        const char lower = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
        if (isPlainName(std::string_view(&lower, 1)) && lower != '-')
            name += lower;
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    name.resize(std::min(name.size(), longestName));
    while (!name.empty() && name.back() == '-')
        name.pop_back();
    return name.empty() ? "recipe" : name;
}

Result<std::string> saveRecipe(Recipe recipe, std::string_view title, bool replace) {
    const std::string name = recipeNameFrom(title);
    const std::vector<std::string> builtIn = builtInRecipes();
    if (std::find(builtIn.begin(), builtIn.end(), name) != builtIn.end())
        return fail(
            Error::badArgument("\"" + name + "\" is the name of a built-in recipe", "choose another one", "name"));
    if (!replace && QFile::exists(QString::fromStdString(savedRecipePath(name))))
        return fail(Error::badArgument("a recipe \"" + name + "\" is already saved",
                                       "choose another name, or replace it", "name"));
    recipe.name = name;
    recipe.title = std::string(title);
    if (const Result<void> made = realFileSystem().makeFolders(recipeShelf()); !made)
        return fail(made.error());
    if (const Result<void> written = realFileSystem().writeAtomically(savedRecipePath(name), toJson(recipe)); !written)
        return fail(written.error());
    return name;
}

Result<void> removeSavedRecipe(std::string_view name) {
    std::error_code failed;
    if (!isPlainName(name) || !std::filesystem::remove(savedRecipePath(name), failed))
        return fail(Error::badArgument("no recipe \"" + std::string(name.substr(0, 80)) + "\" is saved",
                                       "lockstepctl recipes shows them"));
    return {};
}

Result<void> shareRecipe(const Recipe &recipe, const std::string &path) {
    return realFileSystem().writeAtomically(path, toJson(recipe));
}

} // namespace lockstep::core
