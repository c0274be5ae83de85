// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ipc/error.h"
#include "trainer/data/bert_characters.h"
#include "trainer/data/piece_trie.h"
#include "trainer/data/tokenizer_rules.h"

namespace lockstep::trainer {

/// Tokens; far above every BERT, and each takes memory, however short it is.
inline constexpr std::size_t largestVocabulary = 2'000'000;

/// BERT's tokenizer: the same tokens as Hugging Face's BertTokenizerFast for every text. Any number of threads may encode at once.
class WordPiece {
public:
    /// The text of a vocab.txt: a piece a line, its number is the line's, counted from 0. `where` names it in errors.
    /// More than largestVocabulary lines are an error.
    [[nodiscard]] static Result<WordPiece> ofVocabulary(std::string_view vocabulary, const TokenizerRules &rules,
                                                        const std::string &where);

    /// Appends [CLS], the text's pieces and [SEP]: at most `maxTokens` in all, but never fewer than these two. A special token
    /// written in the text counts as that token. Invalid UTF-8 is dropped, as U+FFFD is.
    void encode(std::string_view utf8, std::size_t maxTokens, std::vector<std::int32_t> &tokens) const;
    [[nodiscard]] std::vector<std::int32_t> encode(std::string_view utf8, std::size_t maxTokens) const;

    /// [PAD], to fill a batch with.
    [[nodiscard]] std::int32_t padding() const { return m_padding; }
    /// How many lines the vocabulary has: every token is below.
    [[nodiscard]] std::int32_t size() const { return m_size; }

private:
    class Encoding;

    WordPiece(const std::vector<std::string_view> &lines, const TokenizerRules &rules);
    [[nodiscard]] std::int32_t find(std::string_view piece) const;

    PieceTrie m_pieces;
    PieceTrie::Node m_inside;           ///< where "##" leads: the pieces that go on within a word
    const BertCharacters *m_characters; ///< one for all tokenizers
    std::array<char, 256> m_plain{};    ///< of ASCII's letters and digits what they become; else 0
    std::vector<std::pair<std::string_view, std::int32_t>> m_special; ///< recognised in texts
    std::int32_t m_unknown, m_begin, m_end, m_padding, m_size;
};

} // namespace lockstep::trainer
