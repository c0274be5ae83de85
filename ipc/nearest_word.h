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
/// The way out for a misspelt word: "did you mean list?", with `mark` on both sides of the word, or `otherwise` if `near` is empty.
[[nodiscard]] std::string meantWord(const std::string &near, std::string_view mark, std::string_view otherwise);

} // namespace lockstep
