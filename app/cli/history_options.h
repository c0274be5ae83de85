// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "commands.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// The parsed options of the history commands.
struct HistoryOptions {
    ListOptions list;
    RunChoice choice;
    std::string run, other, text, tags;
    std::vector<std::string> ids;
    bool flag = false, json = false;
};
/// Adds list, tag, rename, note, star, delete, restore, trash and diff; `options` must outlive the parsing.
void addHistory(CLI::App &app, HistoryOptions &options, int &exitCode);

} // namespace lockstep::cli
