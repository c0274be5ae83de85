// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace lockstep::core {

/// Text for Markdown, on one line: markup in it is escaped, and so is the "|" that would end a cell.
[[nodiscard]] std::string markdownText(std::string_view text);

} // namespace lockstep::core
