// SPDX-License-Identifier: MIT
#pragma once
// What BERT's tokenizer makes of each character, as tables in ascending order; bert_characters.h makes one of them.
#include <array>
#include <span>

namespace lockstep::trainer::bert {

struct Range {
    char32_t first, last;
};

/// A mark that is kept: NFD sorts it among its neighbours by its combining class.
struct Moved {
    char32_t mark;
    int combiningClass;
};

/// `first` becomes `target`, first + step becomes target + step, … to `last`.
struct Step {
    char32_t first, last, step, target;
};

struct Several {
    char32_t from;
    std::array<char32_t, 3> to; ///< ends at a 0
};

[[nodiscard]] std::span<const Range> removed();
[[nodiscard]] std::span<const Range> spaces();
[[nodiscard]] std::span<const Range> ideographs();
[[nodiscard]] std::span<const Range> punctuation();

// Without accents
[[nodiscard]] std::span<const Range> marks();       ///< dropped
[[nodiscard]] std::span<const Range> endingMarks(); ///< dropped; no mark is sorted past them
[[nodiscard]] std::span<const Moved> moved();
[[nodiscard]] std::span<const Step> baseSteps();
[[nodiscard]] std::span<const char32_t> baseRuns();   ///< first, count, and what each of these becomes; again and again
[[nodiscard]] std::span<const Several> baseSeveral(); ///< but Hangul's syllables, which arithmetic takes apart

// In lower case: of characters as they are, and of what they are without accents
[[nodiscard]] std::span<const Step> lowerSteps();
[[nodiscard]] std::span<const char32_t> lowerRuns(); ///< as baseRuns()
[[nodiscard]] std::span<const Several> lowerSeveral();

} // namespace lockstep::trainer::bert
