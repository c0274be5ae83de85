// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// How many letters must be put in, left out or changed to make one word of the other (Levenshtein).
[[nodiscard]] std::size_t editDistance(std::string_view a, std::string_view b);

/// The one of `known` most similar to a misspelt word; empty if none is similar.
[[nodiscard]] std::string nearestWord(std::string_view word, const std::vector<std::string> &known);

} // namespace lockstep
