// SPDX-License-Identifier: MIT
#pragma once
// Inside ipc only: documents as nlohmann's JSON values. Include from .cpp files of ipc, never from a public header.
#include <nlohmann/json.hpp>

#include "ipc/run_config.h"

namespace lockstep::documents {

using Json = nlohmann::ordered_json;

/// A number that may be non-finite, as frames write it: "NaN", "Inf", "-Inf".
[[nodiscard]] Json real(double number);
/// One line, invalid UTF-8 replaced.
[[nodiscard]] std::string line(const Json &json);
/// Indented, with a newline at the end, for files that people open.
[[nodiscard]] std::string page(const Json &json);
/// Parses an object; the error says where the text stops being JSON. `what`: "config.json", for the sentence.
[[nodiscard]] Result<Json> parseObject(std::string_view text, std::string_view what);

[[nodiscard]] Json fromConfig(const RunConfig &config);

enum class UnknownKeys { Refuse, Ignore };
/// `places` of the text the object came from gives the lines; `path` is the object's own place in it.
[[nodiscard]] tl::expected<RunConfig, std::vector<Error>>
toConfig(const Json &object, UnknownKeys unknown, std::string_view text = {}, const std::string &path = {});

} // namespace lockstep::documents
