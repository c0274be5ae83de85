// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// Text for a terminal. What a rank, a script or another machine says may hold sequences that a terminal obeys: control
/// characters other than line ends and tabs, and those that turn the direction of writing, become U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);

/// Words from outside that people decide by, in quotes on one line: 200 bytes at most. Quotes in them, line ends and characters that are
/// not seen are replaced, so that nothing in them looks like the sentence around them.
[[nodiscard]] std::string quotedWords(std::string_view words);

/// Text as a part of one line: line ends and tabs become spaces.
[[nodiscard]] std::string onOneLine(std::string_view text);

/// Bytes that are kept of a name, a title or a sentence that a document or another machine holds; a name may hold a command of 4 KiB.
inline constexpr std::size_t longestText = 16 * 1024;
/// The beginning of such a text, which ends between two characters.
[[nodiscard]] std::string cutText(std::string text, std::size_t most = longestText);

/// A name from outside within a sentence: its first 80 bytes, control characters as "?".
[[nodiscard]] std::string printableName(std::string_view name);

} // namespace lockstep
