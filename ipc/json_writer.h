// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

/// `text` with every byte that is not valid UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string validUtf8(std::string_view text);
/// The largest length ≤ `bytes` that does not cut a UTF-8 character in two.
[[nodiscard]] std::size_t utf8Boundary(std::string_view text, std::size_t bytes);

/// Writes JSON on one line, directly into a string; it is fast, for thousands of frames a second. Never fails:
/// non-finite numbers become "NaN", "Inf", "-Inf", and invalid UTF-8 becomes U+FFFD.
class JsonWriter {
public:
    JsonWriter &beginObject();
    JsonWriter &endObject();
    JsonWriter &beginArray();
    JsonWriter &endArray();
    JsonWriter &key(std::string_view key);
    JsonWriter &value(std::string_view text);
    JsonWriter &value(const std::string &text) { return value(std::string_view(text)); }
    JsonWriter &value(const char *text) { return value(std::string_view(text)); }
    JsonWriter &value(double number);
    JsonWriter &value(std::int64_t number);
    JsonWriter &value(std::uint64_t number);
    JsonWriter &value(int number) { return value(std::int64_t{number}); }
    JsonWriter &value(bool truth);
    JsonWriter &null();
    JsonWriter &raw(std::string_view json); ///< a value that is already JSON

    template <class T> JsonWriter &field(std::string_view name, const T &what) { return key(name).value(what); }

    [[nodiscard]] std::string take() { return std::move(m_text); }
    [[nodiscard]] std::size_t size() const { return m_text.size(); }

private:
    void separate();
    std::string m_text;
    bool m_first = true; ///< nothing was written at this level yet, or a key was just written
};

} // namespace lockstep
