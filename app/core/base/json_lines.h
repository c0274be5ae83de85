// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {

struct JsonMember;

/// A JSON value with its line number, for error messages about hand-written files.
struct JsonNode {
    enum class Kind { Null, Switch, Integer, Real, Text, List, Object };
    Kind kind = Kind::Null;
    int line = 1;     ///< of its key, or of its first character
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

} // namespace lockstep::core
