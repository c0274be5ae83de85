// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace lockstep::core {

/// Text for a spreadsheet's cell. Text that it would compute as a formula (begins with = + - @ or a control character)
/// gets an apostrophe before it. Figures ("-3.5", "+0.50 s") and "-" (unknown) stay unchanged.
[[nodiscard]] std::string cellText(std::string_view text);

/// The same as a field of CSV (RFC 4180), quoted where that is needed.
[[nodiscard]] std::string csvField(std::string_view text);

} // namespace lockstep::core
