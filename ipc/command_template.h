// SPDX-License-Identifier: MIT
#pragma once
// Words of a command with places to fill in: {workers} is a field of the run's RunConfig by its key. Besides there are
//   {python}                     a Python that has torch
//   {python:torch,torchvision}   a Python that has these modules
//   {scripts}                    the folder of the Python files that come with Lockstep
//   {recipe_folder}              the folder of the recipe's file (filled in when it is read)
// {{ and }} stand for braces.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep {

/// The value of a placeholder by the text between its braces.
using PlaceholderValue = std::function<Result<std::string>(std::string_view name)>;

/// `word` with its placeholders filled in. Errors: `value`'s own, or a brace without its partner.
[[nodiscard]] Result<std::string> fillPlaceholders(std::string_view word, const PlaceholderValue &value);

/// The modules that {python} or {python:a,b} asks for; nothing when it is another placeholder.
[[nodiscard]] std::optional<std::vector<std::string>> pythonModules(std::string_view name);

/// A field of the config by its key; an unknown name is answered with the nearest one.
[[nodiscard]] Result<std::string> configPlaceholder(const RunConfig &config, std::string_view name);

/// Whether every placeholder of the command is known; the first mistake.
[[nodiscard]] Result<void> checkPlaceholders(const std::vector<std::string> &command);

/// The command as a person would type it: fields filled in, {python} as python3, {scripts} as that folder; an option whose
/// field is empty is left out.
[[nodiscard]] std::vector<std::string> shownCommand(const std::vector<std::string> &command, const RunConfig &config,
                                                    std::string_view scripts = "{scripts}");

/// What a command is called where nobody gave it a name: "train.py" for python3 -u train.py, else the program.
[[nodiscard]] std::string commandName(const std::vector<std::string> &command);
/// The index of the script that a Python of this command runs; nothing for other programs, -m and -c.
[[nodiscard]] std::optional<std::size_t> pythonScript(const std::vector<std::string> &command);

} // namespace lockstep
