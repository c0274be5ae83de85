// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_lines.h"
#include "ipc/error.h"

namespace lockstep::core {

/// Of a recipe or another file, which can have millions of mistakes, so many are named.
inline constexpr std::size_t mostMistakesNamed = 100;

/// Reads typed keys out of JSON that people write, collecting every mistake, with its line, instead of stopping at the first.
class KeyReader {
public:
    /// `file` goes into the errors; may be empty.
    explicit KeyReader(std::string_view file) : m_file(file) {}
    /// The first mostMistakesNamed; a last one says how many more there are.
    [[nodiscard]] std::vector<Error> errors() const;
    [[nodiscard]] std::size_t errorCount() const { return m_errors.size() + m_more; }

    void complain(int line, std::string_view key, std::string what, std::string wayOut);
    /// Adds `about` to the errors after the first `from`, and drops those that then repeat an earlier one.
    void qualifyErrors(std::size_t from, const std::string &about);
    /// Names 20 keys that are unknown or there twice, and says how many more there are.
    void refuseUnknown(const JsonNode &object, const std::vector<std::string> &known);
    [[nodiscard]] bool isObject(const JsonNode &node, std::string_view key);
    // A key that is absent is no mistake unless it is required.
    [[nodiscard]] std::string text(const JsonNode &object, std::string_view key, bool required = false);
    [[nodiscard]] std::optional<double> number(const JsonNode &object, std::string_view key, double low, double high);
    [[nodiscard]] std::optional<std::int64_t> whole(const JsonNode &object, std::string_view key, std::int64_t low,
                                                    std::int64_t high);
    [[nodiscard]] std::vector<std::string> texts(const JsonNode &object, std::string_view key);
    /// Remarks that each are shown in a line: 1,000 at most.
    [[nodiscard]] std::vector<std::string> remarks(const JsonNode &object, std::string_view key);
    [[nodiscard]] std::vector<double> numbers(const JsonNode &object, std::string_view key, double low, double high);

private:
    std::string m_file;
    std::vector<Error> m_errors;
    std::size_t m_more = 0; ///< errors that were not kept
};

/// A value as an error shows it: a text in quotes, cut; a list or an object by its kind.
[[nodiscard]] std::string quotedNode(const JsonNode &value);

} // namespace lockstep::core
