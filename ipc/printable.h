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

/// How many bytes the character takes that the text begins with if it turns the direction of writing: a mark of direction, an
/// embedding, an override or an isolate. 0: it does not.
[[nodiscard]] std::size_t turnsDirection(std::string_view text);
/// Text to draw or to export: embeddings, overrides and isolates become U+FFFD, as they would also turn the numbers that we put
/// after it. Marks of direction, which Arabic and Hebrew are written with, stay. Of the same length.
[[nodiscard]] std::string withoutTurns(std::string text);

/// Text as a part of one line, withoutTurns(): line ends and tabs become spaces.
[[nodiscard]] std::string onOneLine(std::string_view text);

/// Bytes that are kept of a title or a sentence that a document or another machine holds.
inline constexpr std::size_t longestText = 16 * 1024;
/// The beginning of such a text, withoutTurns(), which ends between two characters.
[[nodiscard]] std::string cutText(std::string text, std::size_t most = longestText);

/// A longer text without its middle, where `between` stands then, in `most` bytes at most. Both parts end between two characters.
[[nodiscard]] std::string cutInside(std::string_view text, std::size_t most, std::string_view between = "…");
/// The same with a checksum of the whole text in place of its middle, so that unlike texts stay unlike.
[[nodiscard]] std::string cutUnlike(std::string_view text, std::size_t most);

/// A name from outside within a sentence: its first 80 bytes, control characters as "?".
[[nodiscard]] std::string printableName(std::string_view name);

} // namespace lockstep
