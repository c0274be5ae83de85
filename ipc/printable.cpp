// SPDX-License-Identifier: MIT
#include "ipc/printable.h"

#include <algorithm>
#include <utility>

#include "ipc/crc32c.h"

#include "ipc/json_writer.h"

namespace lockstep {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// C0 and DEL.
bool isControl(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Of UTF-8.
bool continuesCharacter(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// C1, U+0080 to U+009F, which terminals obey as well: two bytes of UTF-8.
bool beginsC1(std::string_view text) {
    return text.size() > 1 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) >= 0x80 &&
           static_cast<unsigned char>(text[1]) <= 0x9F;
}

/// Of every character that turns the direction of writing.
constexpr std::size_t turnBytes = 3;
constexpr char turnBegin = '\xE2';

bool mayTurn(std::string_view text) {
    return text.size() >= turnBytes && text[0] == turnBegin;
}

/// U+200E and U+200F.
bool beginsMark(std::string_view text) {
    return mayTurn(text) && text[1] == '\x80' && (text[2] == '\x8E' || text[2] == '\x8F');
}

/// U+202A to U+202E and U+2066 to U+2069, which turn what follows them too.
bool beginsEmbedding(std::string_view text) {
    if (!mayTurn(text))
        return false;
    const auto last = static_cast<unsigned char>(text[2]);
    return (text[1] == '\x80' && last >= 0xAA && last <= 0xAE) || (text[1] == '\x81' && last >= 0xA6 && last <= 0xA9);
}

} // namespace

std::size_t turnsDirection(std::string_view text) {
    return beginsMark(text) || beginsEmbedding(text) ? turnBytes : 0;
}

std::string withoutTurns(std::string text) {
    static_assert(replacement.size() == turnBytes);
    for (std::size_t at = text.find(turnBegin); at != std::string::npos; at = text.find(turnBegin, at + 1))
        if (beginsEmbedding(std::string_view(text).substr(at)))
            text.replace(at, turnBytes, replacement);
    return text;
}

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
    std::string out = withoutTurns(std::string(text));
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
    return withoutTurns(std::move(text));
}

std::string cutInside(std::string_view text, std::size_t most, std::string_view between) {
    if (text.size() <= most)
        return std::string(text);
    const std::size_t kept = most - std::min(most, between.size()), before = utf8Boundary(text, kept - kept / 2);
    std::size_t after = text.size() - kept / 2;
    while (after < text.size() && continuesCharacter(text[after]))
        ++after;
    return std::string(text.substr(0, before)) + std::string(between) + std::string(text.substr(after));
}

std::string cutUnlike(std::string_view text, std::size_t most) {
    return text.size() <= most ? std::string(text) : cutInside(text, most, "…" + crcText(crc32c(text)) + "…");
}

std::string printableName(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, 80))
        out += isControl(c) ? '?' : c;
    return out;
}

} // namespace lockstep
