// SPDX-License-Identifier: MIT
#pragma once
// Flags of people's own scripts, as a study varies them.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/recipe.h"

namespace lockstep::core {

using Flags = std::map<std::string, std::string>; ///< without the dashes in front: {"amp", "on"}

/// The words that ask for a flag: "--amp" where the value is on, none where it is off, else "--hidden", "512".
[[nodiscard]] std::vector<std::string> flagWords(const std::string &name, const std::string &value);
/// Adds the flag to the run's command and to what is said of it.
void addFlag(RunSpec &spec, const std::string &name, const std::string &value);
/// The command with the second flags in place of the first, which it was given by addFlag(). Absent where it doesn't have those.
[[nodiscard]] std::optional<std::vector<std::string>> withFlags(std::vector<std::string> command, const Flags &from,
                                                                const Flags &to);
/// Calls `use` with each flag of either in which two differ, in their order.
void eachFlagApart(const Flags &a, const Flags &b, const std::function<void(const std::string &name)> &use);
/// These flags.
[[nodiscard]] std::vector<std::string> flagsApart(const Flags &a, const Flags &b);
[[nodiscard]] std::string flagValue(const Flags &flags, const std::string &name); ///< "not given" where it has none
/// "amp on", "hidden 512"; "no hidden" where it has none.
[[nodiscard]] std::string flagText(const Flags &flags, const std::string &name);
/// A word of a command that stands for itself: braces are doubled (ipc/command_template.h).
[[nodiscard]] std::string literalWord(const std::string &word);

} // namespace lockstep::core
