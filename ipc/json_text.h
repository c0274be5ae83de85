// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The lines of the keys and list items of a JSON text, so that an error can name the line. Paths are JSON pointers:
/// "/runs/0/batch_size". Of 100,000 of them, and of none longer than 200 bytes: a text may be anybody's.
struct JsonPlaces {
    std::map<std::string, int, std::less<>> lines; ///< from 1; if a key appears twice, the first one's line
    std::vector<std::string> doubled;              ///< paths of keys that appear twice in one object

    /// 0 if the path is unknown.
    [[nodiscard]] int lineOf(std::string_view path) const;
};

/// Scans a text that is valid JSON (parse it first). It stops silently where the text is not valid.
[[nodiscard]] JsonPlaces findPlaces(std::string_view text);

} // namespace lockstep
