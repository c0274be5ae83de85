// SPDX-License-Identifier: MIT
#include "base/markdown_text.h"

namespace lockstep::core {

std::string markdownText(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (std::string_view("\\`*_{}[]<>#|~").find(c) != std::string_view::npos)
            out += '\\';
        out += c == '\n' || c == '\r' ? ' ' : c;
    }
    return out;
}

} // namespace lockstep::core
