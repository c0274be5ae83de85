// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/error.h"

namespace lockstep::trainer {

/// A token that stands for no piece of a text.
struct SpecialToken {
    std::string_view key;  ///< in a tokenizer_config
    std::string_view name; ///< in a vocabulary, and where it is written in a text
};
inline constexpr SpecialToken paddingToken{"pad_token", "[PAD]"}, unknownToken{"unk_token", "[UNK]"},
    beginToken{"cls_token", "[CLS]"}, endToken{"sep_token", "[SEP]"}, maskToken{"mask_token", "[MASK]"};
inline constexpr std::array specialTokens{paddingToken, unknownToken, beginToken, endToken, maskToken};

/// How a BERT's tokenizer reads the characters of a text.
struct TokenizerRules {
    bool lowerCase = true;                 ///< do_lower_case
    std::optional<bool> stripAccents = {}; ///< strip_accents; absent: as lowerCase
    bool splitChinese = true;              ///< tokenize_chinese_chars: each Chinese character is a word of its own

    [[nodiscard]] bool stripsAccents() const { return stripAccents.value_or(lowerCase); }
};

/// The rules in the text of a tokenizer_config; what it leaves out is as in BertTokenizerFast. Another tokenizer than
/// BERT's, other names of the special tokens and added tokens are a BadArgument; `file` names it in the error.
[[nodiscard]] Result<TokenizerRules> tokenizerRulesFrom(std::string_view text, const std::string &file);

} // namespace lockstep::trainer
