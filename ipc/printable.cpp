// SPDX-License-Identifier: MIT
#include "ipc/printable.h"

#include <algorithm>

#include "ipc/json_writer.h"

namespace lockstep {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// C0 and DEL.
bool isControl(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// C1, U+0080 to U+009F, which terminals obey as well: two bytes of UTF-8.
bool beginsC1(std::string_view text) {
    return text.size() > 1 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) >= 0x80 &&
           static_cast<unsigned char>(text[1]) <= 0x9F;
}

/// How many bytes a character takes that turns the direction of writing: U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. 0: it is none.
std::size_t turnsDirection(std::string_view text) {
    if (text.size() < 3 || text[0] != '\xE2')
        return 0;
    const auto second = static_cast<unsigned char>(text[1]), third = static_cast<unsigned char>(text[2]);
    const bool marks = second == 0x80 && (third == 0x8E || third == 0x8F);
    const bool embeds = second == 0x80 && third >= 0xAA && third <= 0xAE;
    const bool isolates = second == 0x81 && third >= 0xA6 && third <= 0xA9;
    return marks || embeds || isolates ? 3 : 0;
}

} // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool endsLine = c == '\n' || (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
        if (beginsC1(text.substr(i))) {
            out += replacement;
            ++i;
        } else if (const std::size_t bytes = turnsDirection(text.substr(i)); bytes > 0) {
            out += replacement;
            i += bytes - 1;
        } else if (isControl(c) && !endsLine && c != '\t')
            out += replacement;
        else
            out += c;
    }
    return out;
}

std::string onOneLine(std::string_view text) {
    std::string out(text);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    return out;
}

std::string quotedWords(std::string_view words) {
    constexpr std::size_t most = 200;
    std::string out = onOneLine(printable(words.substr(0, most)));
    std::replace(out.begin(), out.end(), '"', '\'');
    return '"' + out + (words.size() > most ? "…\" (cut)" : "\"");
}

std::string cutText(std::string text, std::size_t most) {
    const bool isLonger = text.size() > most;
    text.resize(utf8Boundary(text, most));
    if (isLonger)
        text.shrink_to_fit();
    return text;
}

std::string printableName(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, 80))
        out += isControl(c) ? '?' : c;
    return out;
}

} // namespace lockstep
