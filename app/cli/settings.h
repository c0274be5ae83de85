// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ipc/error.h"

namespace lockstep::cli {

/// Parses KEY=VALUE; any other word is an error whose `where` names the option.
[[nodiscard]] tl::expected<std::vector<std::pair<std::string, std::string>>, std::vector<Error>>
settingsFrom(const std::vector<std::string> &words, const std::string &option);

} // namespace lockstep::cli
