// SPDX-License-Identifier: MIT
#include "ipc/json_writer.h"

#include <charconv>
#include <cmath>

namespace lockstep {

namespace {

/// Length of the valid UTF-8 sequence at `at`; 0 if there is none (RFC 3629: no overlong forms, no surrogates).
std::size_t sequenceLength(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
        return i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const unsigned lead = byte(at);
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return continues(at + 1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const unsigned low = lead == 0xE0 ? 0xA0 : 0x80, high = lead == 0xED ? 0x9F : 0xBF;
        return continues(at + 1, low, high) && continues(at + 2) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const unsigned low = lead == 0xF0 ? 0x90 : 0x80, high = lead == 0xF4 ? 0x8F : 0xBF;
        return continues(at + 1, low, high) && continues(at + 2) && continues(at + 3) ? 4 : 0;
    }
    return 0;
}

void appendEscaped(std::string &out, char c) {
    static constexpr char digits[] = "0123456789abcdef";
    switch (c) {
    case '"':
        out += "\\\"";
        return;
    case '\\':
        out += "\\\\";
        return;
    case '\n':
        out += "\\n";
        return;
    case '\r':
        out += "\\r";
        return;
    case '\t':
        out += "\\t";
        return;
    default:
        out += "\\u00";
        out += digits[(c >> 4) & 0xF];
        out += digits[c & 0xF];
    }
}

void appendQuoted(std::string &out, std::string_view text) {
    out += '"';
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') {
            appendEscaped(out, c);
            ++i;
        } else if (const std::size_t length = sequenceLength(text, i)) {
            out.append(text, i, length);
            i += length;
        } else {
            out += "\xEF\xBF\xBD";
            ++i;
        }
    }
    out += '"';
}

} // namespace

std::string validUtf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = sequenceLength(text, i);
        out.append(length ? text.substr(i, length) : std::string_view("\xEF\xBF\xBD"));
        i += length ? length : 1;
    }
    return out;
}

std::size_t utf8Boundary(std::string_view text, std::size_t bytes) {
    if (bytes >= text.size())
        return text.size();
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80)
        --bytes;
    return bytes;
}

void JsonWriter::separate() {
    if (!m_first)
        m_text += ',';
    m_first = false;
}

JsonWriter &JsonWriter::beginObject() {
    separate();
    m_text += '{';
    m_first = true;
    return *this;
}

JsonWriter &JsonWriter::endObject() {
    m_text += '}';
    m_first = false;
    return *this;
}

JsonWriter &JsonWriter::beginArray() {
    separate();
    m_text += '[';
    m_first = true;
    return *this;
}

JsonWriter &JsonWriter::endArray() {
    m_text += ']';
    m_first = false;
    return *this;
}

JsonWriter &JsonWriter::key(std::string_view key) {
    separate();
    appendQuoted(m_text, key);
    m_text += ':';
    m_first = true;
    return *this;
}

JsonWriter &JsonWriter::value(std::string_view text) {
    separate();
    appendQuoted(m_text, text);
    return *this;
}

JsonWriter &JsonWriter::value(double number) {
    if (std::isnan(number))
        return value("NaN");
    if (std::isinf(number))
        return value(number > 0 ? "Inf" : "-Inf");
    separate();
    if (number == 0 && std::signbit(number)) { // "-0" is an integer, which has no such zero
        m_text += "-0.0";
        return *this;
    }
    char buffer[32];
    // The shortest text that reads back as the same number. A large number needs an exponent: without one, readers take
    // it for an integer that does not fit into 64 bits.
    char *end = std::abs(number) < 1e15
                    ? std::to_chars(buffer, buffer + sizeof buffer, number).ptr
                    : std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
    m_text.append(buffer, end);
    return *this;
}

JsonWriter &JsonWriter::value(std::int64_t number) {
    separate();
    m_text += std::to_string(number);
    return *this;
}

JsonWriter &JsonWriter::value(std::uint64_t number) {
    separate();
    m_text += std::to_string(number);
    return *this;
}

JsonWriter &JsonWriter::value(bool truth) {
    separate();
    m_text += truth ? "true" : "false";
    return *this;
}

JsonWriter &JsonWriter::null() {
    separate();
    m_text += "null";
    return *this;
}

JsonWriter &JsonWriter::raw(std::string_view json) {
    separate();
    m_text += json;
    return *this;
}

} // namespace lockstep
