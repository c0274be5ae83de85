// SPDX-License-Identifier: MIT
#include "ipc/printable.h"

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
        } else if (isControl(c) && !endsLine && c != '\t')
            out += replacement;
        else
            out += c;
    }
    return out;
}

std::string printableName(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, 80))
        out += isControl(c) ? '?' : c;
    return out;
}

} // namespace lockstep
