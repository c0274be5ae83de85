// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"

namespace lockstep::trainer {

/// Columns by name, in the order asked for, of a CSV file (RFC 4180) or, if it is named .tsv or its first line holds a tab, of one
/// with tabs. The first record names the columns; a record of nothing at all is an empty line and is skipped. Fields are bytes:
/// only a BOM at the beginning goes. What the RFC leaves open is read as Python's csv module reads it.
/// Errors (no such file, column or record, more than 100,000 columns, fields missing or left over, a quote that never closes) are BadArgument and name
/// the file and, where it helps, the line.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> readColumns(const std::string &path,
                                                                        const std::vector<std::string> &names);
/// The same of a file's bytes that are read already; `path` names it.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> columnsOf(std::string_view bytes, const std::string &path,
                                                                      const std::vector<std::string> &names);
/// The line on which a record begins, the first after the header being 0, of a file that columnsOf() takes.
[[nodiscard]] std::size_t lineOfRecord(std::string_view bytes, const std::string &path, std::size_t record);
/// The bytes; errors are as above.
[[nodiscard]] Result<std::string> readDelimited(const std::string &path);

} // namespace lockstep::trainer
