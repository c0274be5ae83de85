// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "trainer/data/tokenizer_rules.h"

namespace lockstep::trainer {

/// What Hugging Face's BertNormalizer and BertPreTokenizer make of each character: the same on every code point.
class BertCharacters {
public:
    enum class Kind : std::uint8_t {
        Kept,    ///< a letter of a word
        Moved,   ///< a letter too, a mark that is sorted among its neighbours by combiningClass()
        Dropped, ///< not there
        Ending,  ///< not there, but no mark is sorted past it
        Space,   ///< ends a word
        Alone,   ///< a word of its own
        Several, ///< two or three characters: parts()
    };
    struct Character {
        Kind kind;
        char32_t becomes; ///< in lower case and without accents, where that is asked for
    };

    explicit BertCharacters(const TokenizerRules &rules);

    /// A code point, at most 0x10ffff.
    [[nodiscard]] Character of(char32_t point) const {
        const std::uint32_t entry = m_entries[point];
        const char32_t becomes = entry & pointMask;
        return {static_cast<Kind>(entry >> pointBits), becomes ? becomes : point};
    }
    /// Of a character that is Moved, 1 to 254.
    [[nodiscard]] static int combiningClass(char32_t point);
    /// Of a character that is Several; ends at a 0. None of them is Several.
    [[nodiscard]] static std::array<char32_t, 3> parts(char32_t point);

private:
    static constexpr int pointBits = 21;
    static constexpr std::uint32_t pointMask = (1U << pointBits) - 1;

    void setKind(char32_t point, Kind kind) {
        m_entries[point] = (m_entries[point] & pointMask) | static_cast<std::uint32_t>(kind) << pointBits;
    }
    void stripAccents();
    void lower();

    std::vector<std::uint32_t> m_entries; ///< by code point: the kind, and what it becomes or 0: itself
};

} // namespace lockstep::trainer
