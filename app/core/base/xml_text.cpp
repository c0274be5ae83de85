// SPDX-License-Identifier: MIT
#include "base/xml_text.h"

namespace lockstep::core {

std::string allowedInXml(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const char c = text.front();
        const bool noCharacter = text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
        const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
        out += noCharacter || control ? ' ' : c;
        text.remove_prefix(noCharacter ? 3 : 1);
    }
    return out;
}

} // namespace lockstep::core
