// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ipc/error.h"

namespace lockstep::trainer {

/// What a file may hold: above the largest sets of labelled texts that are in use (3.6 million reviews in 1.6 GB).
inline constexpr std::uint64_t mostDelimitedBytes = std::uint64_t{2} << 30;
inline constexpr std::size_t mostRecords = 20'000'000; ///< each takes memory, however short it is

/// Some columns of a CSV file (RFC 4180) or, if it is named .tsv or its first line holds a tab, of one with tabs. The first record
/// names the columns; a record of nothing at all is an empty line and is skipped. Fields are bytes: only a BOM at the beginning goes.
/// What the RFC leaves open is read as Python's csv module reads it. A field takes four bytes beside the file's own, which must
/// outlive this. Any number of threads may read.
class DelimitedColumns {
public:
    /// Each of `begins` has `records` places in `text` at which a field begins.
    DelimitedColumns(std::string_view text, char delimiter, std::size_t records,
                     std::vector<std::vector<std::uint32_t>> begins)
        : m_text(text), m_delimiter(delimiter), m_records(records), m_begins(std::move(begins)) {}

    [[nodiscard]] std::size_t records() const { return m_records; } ///< without the header
    /// Columns are counted in the order asked for, records from the first after the header; both from 0.
    [[nodiscard]] std::string field(std::size_t column, std::size_t record) const;

private:
    std::string_view m_text;
    char m_delimiter;
    std::size_t m_records;
    std::vector<std::vector<std::uint32_t>> m_begins; ///< of each column
};

/// The bytes of such a file. Errors (no such file, one that can't be read or has more than mostDelimitedBytes) are BadArgument and name it.
[[nodiscard]] Result<std::string> readDelimited(const std::string &path);
/// Columns by name, in the order asked for, of a file's bytes; `path` names it. Errors (no such column, no record or more than mostRecords,
/// more than 100,000 columns, fields missing or left over, a quote that never closes, too many bytes) are BadArgument and name the file and,
/// where it helps, the line.
[[nodiscard]] Result<DelimitedColumns> columnsOf(std::string_view bytes, const std::string &path,
                                                 const std::vector<std::string> &names);
/// All that is in these columns, in memory of its own. Errors are those of both.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> readColumns(const std::string &path,
                                                                        const std::vector<std::string> &names);
/// The line on which a record begins, the first after the header being 0, of a file that columnsOf() takes.
[[nodiscard]] std::size_t lineOfRecord(std::string_view bytes, const std::string &path, std::size_t record);

} // namespace lockstep::trainer
