// SPDX-License-Identifier: MIT
#pragma once
// Only for .cpp files of ipc, never for a public header. Documents as values of nlohmann's JSON library.
#include <nlohmann/json.hpp>

#include "ipc/run_config.h"

namespace lockstep::documents {

using Json = nlohmann::ordered_json;

/// A number; non-finite ones become "NaN", "Inf" or "-Inf", as in frames.
[[nodiscard]] Json real(double number);
/// One line; invalid UTF-8 is replaced.
[[nodiscard]] std::string line(const Json &json);
/// Indented and with a newline at the end, for files that people open.
[[nodiscard]] std::string page(const Json &json);
/// Parses an object. The error says on which line the JSON is wrong; `what` names the text in it, e.g. "config.json".
[[nodiscard]] Result<Json> parseObject(std::string_view text, std::string_view what);

[[nodiscard]] Json fromConfig(const RunConfig &config);

enum class UnknownKeys { Refuse, Ignore };
/// `text` is the whole document and `path` the object's place in it; with both, errors name the line.
[[nodiscard]] tl::expected<RunConfig, std::vector<Error>>
toConfig(const Json &object, UnknownKeys unknown, std::string_view text = {}, const std::string &path = {});

} // namespace lockstep::documents
