// SPDX-License-Identifier: MIT
#include "export/cell_text.h"

#include <charconv>

namespace lockstep::core {
namespace {

/// "+0.5", "-3e-05", "+0.50 ± 0.20 s": a figure, not a formula.
bool isFigure(std::string_view text) {
    double number = 0;
    if (text.starts_with('+'))
        text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() &&
           std::string_view(end, text.data() + text.size()).find_first_of("=+-@|!&()*/^<>\"'") ==
               std::string_view::npos;
}

} // namespace

std::string cellText(std::string_view text) {
    constexpr std::string_view beginsFormula = "=+-@\t\r";
    const bool plain =
        text.empty() || beginsFormula.find(text.front()) == std::string_view::npos || text == "-" || isFigure(text);
    return plain ? std::string(text) : "'" + std::string(text);
}

std::string csvField(std::string_view text) {
    const std::string cell = cellText(text);
    if (cell.find_first_of(",;\t\"\r\n") == std::string::npos)
        return cell;
    std::string out = "\"";
    for (const char c : cell)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

} // namespace lockstep::core
