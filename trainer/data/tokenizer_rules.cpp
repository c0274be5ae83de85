// SPDX-License-Identifier: MIT
#include "trainer/data/tokenizer_rules.h"

#include <algorithm>

#include "ipc/documents.h"
#include "ipc/printable.h"

namespace lockstep::trainer {
namespace {

using TokenizerJson = documents::Json;

/// Classes of transformers that make the tokens of BertTokenizer, or say nothing of how they make them. Each may end in "Fast".
constexpr std::array<std::string_view, 7> bertTokenizers{
    "BertTokenizer",       "DistilBertTokenizer", "ElectraTokenizer", "ConvBertTokenizer",
    "MobileBertTokenizer", "PreTrainedTokenizer", "TokenizersBackend"};

bool isBertTokenizer(std::string_view name) {
    constexpr std::string_view fast = "Fast";
    if (name.ends_with(fast))
        name.remove_suffix(fast.size());
    return std::ranges::find(bertTokenizers, name) != bertTokenizers.end();
}

/// A token is written as its text, or as an object with it; absent: neither.
std::optional<std::string> tokenIn(const TokenizerJson &value) {
    return value.is_string() ? std::optional(value.get<std::string>())
                             : documents::optionalIn<std::string>(value, "content");
}

std::string otherSpecialToken(const TokenizerJson &settings) {
    for (const auto &[key, name] : specialTokens)
        if (const auto found = settings.find(std::string(key)); found != settings.end())
            if (const auto token = tokenIn(*found); token && *token != name)
                return "its " + std::string(key) + " is " + quotedWords(*token) + ", and only " + std::string(name) +
                       " is supported";
    return {};
}

std::string addedToken(const TokenizerJson &settings) {
    for (const char *key : {"added_tokens_decoder", "additional_special_tokens", "extra_special_tokens"})
        if (const auto found = settings.find(key); found != settings.end() && found->is_structured())
            for (const TokenizerJson &value : *found)
                if (const auto token = tokenIn(value);
                    token && std::ranges::find(specialTokens, *token, &SpecialToken::name) == specialTokens.end())
                    return "its " + std::string(key) + " has " + quotedWords(*token) +
                           ", and tokens beside the vocabulary's are not supported";
    return {};
}

/// Why it is no tokenizer that texts are read with here; empty: it is one.
std::string unsupportedTokenizer(const TokenizerJson &settings) {
    const std::string kind = documents::optionalIn<std::string>(settings, "tokenizer_class").value_or("BertTokenizer");
    if (!isBertTokenizer(kind))
        return "its tokenizer_class is " + quotedWords(kind) + ", and only BertTokenizer is supported";
    if (!documents::optionalIn<bool>(settings, "do_basic_tokenize").value_or(true))
        return "its do_basic_tokenize is false, and only true is supported";
    const std::string other = otherSpecialToken(settings);
    return other.empty() ? addedToken(settings) : other;
}

} // namespace

Result<TokenizerRules> tokenizerRulesFrom(std::string_view text, const std::string &file) {
    const char *const wayOut = "name another BERT folder with --bert-dir";
    const auto settings = documents::parseObject(text, "it");
    if (!settings)
        return fail(Error::badArgument(settings.error().what, wayOut, file));
    if (const std::string why = unsupportedTokenizer(*settings); !why.empty())
        return fail(Error::badArgument(why, wayOut, file));
    TokenizerRules rules;
    rules.lowerCase = documents::optionalIn<bool>(*settings, "do_lower_case").value_or(rules.lowerCase);
    rules.stripAccents = documents::optionalIn<bool>(*settings, "strip_accents");
    rules.splitChinese = documents::optionalIn<bool>(*settings, "tokenize_chinese_chars").value_or(rules.splitChinese);
    return rules;
}

} // namespace lockstep::trainer
