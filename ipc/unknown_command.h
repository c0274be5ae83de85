// SPDX-License-Identifier: MIT
#pragma once
// CLI11 reports a misspelt command as one that is missing.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/nearest_word.h"

namespace lockstep {

/// The error of a command line that names a command which `app`, a CLI::App, doesn't have; absent: there is none.
template <class App>
[[nodiscard]] std::optional<Error> unknownCommand(const App &app, std::string_view program, int argc, char **argv) {
    const App *at = &app;
    for (int i = 1; i < argc && argv[i][0] != '-' && at->get_require_subcommand_min() > 0; ++i) {
        const std::string word(argv[i]);
        const auto commands = at->get_subcommands(nullptr);
        const auto found = std::ranges::find_if(commands, [&](const App *one) { return one->get_name() == word; });
        if (found == commands.end()) {
            std::vector<std::string> known;
            for (const App *one : commands)
                if (!one->get_group().empty()) // the others are for programs
                    known.push_back(one->get_name());
            return Error::badArgument(
                "there is no command \"" + word.substr(0, 80) + "\"",
                meantWord(nearestWord(word, known), "", "`" + std::string(program) + " --help` lists the commands"));
        }
        at = *found;
    }
    return std::nullopt;
}

} // namespace lockstep
