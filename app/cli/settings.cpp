// SPDX-License-Identifier: MIT
#include "settings.h"

namespace lockstep::cli {

tl::expected<std::vector<std::pair<std::string, std::string>>, std::vector<Error>>
settingsFrom(const std::vector<std::string> &words, const std::string &option) {
    std::vector<std::pair<std::string, std::string>> settings;
    std::vector<Error> errors;
    for (const std::string &word : words) {
        const auto equals = word.find('=');
        if (equals == std::string::npos || equals == 0)
            errors.push_back(
                Error::badArgument("\"" + word.substr(0, 80) + "\" sets nothing", "write KEY=VALUE", option));
        else
            settings.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
    if (!errors.empty())
        return tl::unexpected(errors);
    return settings;
}

} // namespace lockstep::cli
