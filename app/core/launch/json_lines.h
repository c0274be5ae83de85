#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

struct JsonMember;

/// A JSON value that knows its line: what a report of mistakes in a hand-written file needs.
struct JsonNode {
    enum class Kind { Null, Switch, Integer, Real, Text, List, Object };
    Kind kind = Kind::Null;
    int line = 1;     ///< of its key, or where it begins
    std::string text; ///< "true", "64", "0.5" or the string itself
    std::vector<JsonNode> items;
    std::vector<JsonMember> members;

    [[nodiscard]] const JsonNode *member(std::string_view key) const;
    [[nodiscard]] bool number() const { return kind == Kind::Integer || kind == Kind::Real; }
};
struct JsonMember {
    std::string key;
    JsonNode value;
};
[[nodiscard]] std::string_view toString(JsonNode::Kind kind); ///< "a number", "a list", …

/// The error's `where` is the line: "12".
[[nodiscard]] Result<JsonNode> parseJsonLines(std::string_view text);

/// The nearest of `known` to a misspelt word; empty when none is near.
[[nodiscard]] std::string nearestWord(std::string_view word, const std::vector<std::string> &known);

} // namespace lockstep::core
