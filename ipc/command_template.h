// SPDX-License-Identifier: MIT
#pragma once
// A command whose words contain placeholders. {workers} is replaced by that field of the run's RunConfig; further
// placeholders are
//   {python}                     a Python that has torch
//   {python:torch,torchvision}   a Python that has these modules
//   {scripts}                    the folder of the Python files that come with Lockstep
//   {recipe_folder}              the folder of the recipe's file (filled in when it is read)
// {{ and }} stand for single braces.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep {

/// Returns the value of a placeholder; `name` is the text between its braces.
using PlaceholderValue = std::function<Result<std::string>(std::string_view name)>;

/// What a program can be started with: a word as Linux takes it (MAX_ARG_STRLEN), and all of them, at the highest limit of a stack.
inline constexpr std::size_t mostWordBytes = 128 * 1024 - 1, mostCommandBytes = 6 * 1024 * 1024;
inline constexpr std::size_t mostCommandWords = 65'536; ///< that a run's record keeps

/// `word` with its placeholders filled in. Errors: those of `value`, a brace without its partner, or more than mostWordBytes.
[[nodiscard]] Result<std::string> fillPlaceholders(std::string_view word, const PlaceholderValue &value);

/// The modules that {python} or {python:a,b} requires; absent for any other placeholder.
[[nodiscard]] std::optional<std::vector<std::string>> pythonModules(std::string_view name);

/// The value of the configuration's field with this key. The error for an unknown name suggests the nearest key.
[[nodiscard]] Result<std::string> configPlaceholder(const RunConfig &config, std::string_view name);

/// Checks that every placeholder of the command is known; the error is about the first that is not.
[[nodiscard]] Result<void> checkPlaceholders(const std::vector<std::string> &command);

/// The error about a command of more than mostCommandWords.
[[nodiscard]] Result<void> checkWordCount(const std::vector<std::string> &command);

/// The bytes of the command with the fields filled in. Fails if they, or those of a word, are more than a program can be
/// started with, or its words more than a record keeps. Needs no more memory than one word.
[[nodiscard]] Result<std::size_t> filledBytes(const std::vector<std::string> &command, const RunConfig &config);
/// The error about a command of more than mostCommandBytes.
[[nodiscard]] Error commandTooLong();

/// The command as a person would type it: fields are filled in, {python} is python3, {scripts} is the given folder. An
/// option whose field is empty is left out. What goes beyond mostCommandBytes is not filled in.
[[nodiscard]] std::vector<std::string> shownCommand(const std::vector<std::string> &command, const RunConfig &config,
                                                    std::string_view scripts = "{scripts}");

/// A name for a command that was given none: "train.py" for python3 -u train.py, else the program's name.
[[nodiscard]] std::string commandName(const std::vector<std::string> &command);
/// The index of the script that the command's Python runs, by itself or by python -m lockstep; absent for other programs, for -m and for -c.
[[nodiscard]] std::optional<std::size_t> pythonScript(const std::vector<std::string> &command);

} // namespace lockstep
