// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace lockstep {

/// Text for a terminal. What a rank, a script or another machine says may hold sequences that a terminal obeys: control
/// characters other than line ends and tabs become U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);

/// A name from outside within a sentence: its first 80 bytes, control characters as "?".
[[nodiscard]] std::string printableName(std::string_view name);

} // namespace lockstep
