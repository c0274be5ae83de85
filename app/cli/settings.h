#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ipc/error.h"

namespace lockstep::cli {

/// KEY=VALUE as typed; every word that sets nothing is an error, whose `where` names the option it was given to.
[[nodiscard]] tl::expected<std::vector<std::pair<std::string, std::string>>, std::vector<Error>>
settingsFrom(const std::vector<std::string> &words, const std::string &option);

} // namespace lockstep::cli
