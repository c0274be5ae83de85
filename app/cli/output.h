// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <QString>

#include "ipc/error.h"

namespace lockstep::cli {

/// Prints the error on stderr; returns its exit code (bad argument 2, failed 1).
int complain(const Error &error);
/// Prints every mistake, one per line; returns 2.
int complain(const std::vector<Error> &errors);
/// To stdout, flushed. A terminal gets nothing that it would obey (ipc/printable.h); a file or a program gets every byte. The first
/// time that it fails, stderr says why; a reader that has gone wants no more, and no sentence.
void print(std::string_view text);
/// A command's exit code: Failed where it printed what could not be written. A reader that has gone is no failure.
[[nodiscard]] int exitCodeAfterPrinting(int exitCode);

/// Writes a file for the user, whole or not at all.
[[nodiscard]] Result<void> writeFile(const std::string &path, const std::string &text);

[[nodiscard]] std::string dump(const nlohmann::ordered_json &json); ///< for --json: indented, with its newline
[[nodiscard]] std::string number(std::optional<double> value);      ///< three significant digits; "-" if unknown
[[nodiscard]] inline std::string text(const QString &text) {
    return text.toStdString();
}

/// A name for logs and stop requests: "lockstepctl on box".
[[nodiscard]] std::string whoAsks();

/// Rows of cells as aligned text; the first row is the head. A column with only numbers (and "-")
/// is right-aligned. Widths count characters, so "×" counts as one.
[[nodiscard]] std::string aligned(std::vector<std::vector<std::string>> rows);

} // namespace lockstep::cli
