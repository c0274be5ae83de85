// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Where the keys and list items of a JSON text stand, so that a mistake can name its line. Paths are JSON pointers:
/// "/runs/0/batch_size".
struct JsonPlaces {
    std::map<std::string, int, std::less<>> lines; ///< from 1; the first place of a doubled key
    std::vector<std::string> doubled;              ///< paths of keys that stand twice in one object

    /// 0 when the path is unknown.
    [[nodiscard]] int lineOf(std::string_view path) const;
};

/// Scans a text that is valid JSON (parse it first); stops quietly where it isn't.
[[nodiscard]] JsonPlaces findPlaces(std::string_view text);

} // namespace lockstep
