// SPDX-License-Identifier: MIT
#include "trainer/data/delimited_text.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "ipc/file_system.h"
#include "ipc/printable.h"

namespace lockstep::trainer {
namespace {

constexpr std::size_t mostColumns = 100'000; ///< far above every data set; each takes memory, however short its name
constexpr std::size_t mostColumnsNamed = 20; ///< in a sentence

/// Takes a text apart, field by field.
class DelimitedFields {
public:
    DelimitedFields(std::string_view text, char delimiter) : m_text(text), m_rest(text), m_delimiter(delimiter) {}

    /// Skips empty lines; whether a record follows, which then begins at line().
    bool findRecord() {
        while (!m_rest.empty() && atLineEnd())
            takeLineEnd();
        return !m_rest.empty();
    }
    [[nodiscard]] std::size_t line() const { return m_line; }

    /// Where in the text the next field begins.
    [[nodiscard]] std::size_t at() const { return m_text.size() - m_rest.size(); }

    /// The record's next field as it is written, which contentOf() reads; nothing if a quote in it never closes.
    std::optional<std::string_view> next() {
        const std::size_t begin = at();
        if (!m_rest.empty() && m_rest.front() == '"')
            do { // a quote that follows at once is doubled: one of the text, which goes on
                m_rest.remove_prefix(1);
                if (!skipQuoted())
                    return {};
            } while (!m_rest.empty() && m_rest.front() == '"');
        skipUnquoted(); // text after the closing quote belongs to the field
        return m_text.substr(begin, at() - begin);
    }

    /// After a field: whether another follows; else the record's line end is taken.
    bool hasMore() {
        if (m_rest.empty())
            return false;
        if (m_rest.front() == m_delimiter) {
            m_rest.remove_prefix(1);
            return true;
        }
        takeLineEnd();
        return false;
    }

private:
    [[nodiscard]] bool atLineEnd() const { return m_rest.front() == '\n' || m_rest.front() == '\r'; }

    void takeLineEnd() {
        m_rest.remove_prefix(m_rest.substr(0, 2) == "\r\n" ? 2 : 1);
        ++m_line;
    }

    void skipUnquoted() {
        std::size_t bytes = 0;
        while (bytes < m_rest.size() && m_rest[bytes] != m_delimiter && m_rest[bytes] != '\n' && m_rest[bytes] != '\r')
            ++bytes;
        m_rest.remove_prefix(bytes);
    }

    /// Up to and with the next quote; false: there is none.
    bool skipQuoted() {
        const std::size_t quote = m_rest.find('"');
        if (quote == std::string_view::npos)
            return false;
        const auto text = m_rest.substr(0, quote);
        for (std::size_t at = text.find_first_of("\r\n"); at != std::string_view::npos;
             at = text.find_first_of("\r\n", at)) {
            at += text.substr(at, 2) == "\r\n" ? 2 : 1;
            ++m_line;
        }
        m_rest.remove_prefix(quote + 1);
        return true;
    }

    std::string_view m_text, m_rest;
    const char m_delimiter;
    std::size_t m_line = 1; ///< counted from 1
};

/// What a field holds that is written as DelimitedFields::next() gives it; of a part of it, which a closing quote may lack, what that holds.
std::string contentOf(std::string_view written) {
    if (!written.starts_with('"'))
        return std::string(written);
    written.remove_prefix(1);
    std::string content;
    for (;;) {
        const std::size_t quote = std::min(written.find('"'), written.size());
        content += written.substr(0, quote);
        written.remove_prefix(std::min(quote + 1, written.size()));
        if (!written.starts_with('"'))
            return content.append(written);
        content += '"';
        written.remove_prefix(1);
    }
}

class DelimitedFile {
public:
    DelimitedFile(const std::string &path, std::string_view text)
        : m_path(path), m_text(text), m_delimiter(delimiterOf(path, text)), m_fields(text, m_delimiter) {}

    Result<DelimitedColumns> columns(const std::vector<std::string> &names) {
        if (!m_fields.findRecord())
            return fail(Error::badArgument("it is empty", "give a file whose first line names the columns", m_path));
        if (auto read = readHeader(); !read)
            return fail(read.error());
        Begins begins(names.size());
        std::vector<std::vector<std::size_t>> takers(m_header.size()); // a column may be asked for twice
        for (std::size_t name = 0; name < names.size(); ++name) {
            const auto found = std::ranges::find_if(m_header, [&](std::string_view written) {
                return written.starts_with('"') ? contentOf(written) == names[name] : written == names[name];
            });
            if (found == m_header.end())
                return fail(noColumn(names[name]));
            takers[found - m_header.begin()].push_back(name);
        }
        while (m_fields.findRecord())
            if (auto read = readRecord(takers, begins); !read)
                return fail(read.error());
        if (m_records == 0)
            return fail(
                Error::badArgument("it names its columns, but holds no record", "give a file with records", m_path));
        return DelimitedColumns(m_text, m_delimiter, m_records, std::move(begins));
    }

    /// Counted from 0, without the header.
    std::size_t lineOf(std::size_t record) {
        for (std::size_t left = record + 1; m_fields.findRecord() && left > 0; --left)
            do
                (void)m_fields.next();
            while (m_fields.hasMore());
        return m_fields.line();
    }

private:
    using Begins = std::vector<std::vector<std::uint32_t>>;

    static char delimiterOf(const std::string &path, std::string_view text) {
        const bool named = path.size() >= 4 && path.compare(path.size() - 4, 4, ".tsv") == 0;
        return named || text.substr(0, text.find_first_of("\r\n")).find('\t') != std::string_view::npos ? '\t' : ',';
    }

    Result<void> readHeader() {
        const std::size_t line = m_fields.line();
        do {
            const auto name = m_fields.next();
            if (!name)
                return fail(unclosed(line));
            if (m_header.size() == mostColumns)
                return fail(Error::badArgument(
                    "its first line names more than " + std::to_string(mostColumns) + " columns",
                    "give a file with fewer, or one whose first line ends where its columns do", m_path));
            m_header.push_back(*name);
        } while (m_fields.hasMore());
        return {};
    }

    Result<void> readRecord(const std::vector<std::vector<std::size_t>> &takers, Begins &begins) {
        if (m_records == mostRecords)
            return fail(Error::badArgument("it holds more than " + std::to_string(mostRecords) + " records",
                                           "give a file with fewer", m_path));
        const std::size_t line = m_fields.line();
        std::size_t count = 0;
        do {
            const std::size_t quoteLine = m_fields.line(), begin = m_fields.at();
            if (!m_fields.next())
                return fail(unclosed(quoteLine));
            if (count < takers.size())
                for (const std::size_t taker : takers[count])
                    begins[taker].push_back(static_cast<std::uint32_t>(begin));
            ++count;
        } while (m_fields.hasMore());
        if (count != takers.size())
            return fail(Error::badArgument("the record has " + fieldsText(count) + ", but the first line names " +
                                               std::to_string(takers.size()),
                                           std::string("put a field that holds a ") + delimiterName() +
                                               " or a line end in quotes, or correct the line",
                                           at(line)));
        ++m_records;
        return {};
    }

    [[nodiscard]] std::string at(std::size_t line) const { return m_path + ":" + std::to_string(line); }
    [[nodiscard]] const char *delimiterName() const { return m_delimiter == '\t' ? "tab" : "comma"; }
    static std::string fieldsText(std::size_t count) {
        return std::to_string(count) + (count == 1 ? " field" : " fields");
    }

    [[nodiscard]] Error noColumn(const std::string &name) const {
        std::string names;
        for (std::size_t i = 0; i < std::min(m_header.size(), mostColumnsNamed); ++i)
            names += (i == 0 ? "'" : ", '") + printableName(contentOf(m_header[i].substr(0, longestText))) + "'";
        if (m_header.size() > mostColumnsNamed)
            names += " and " + std::to_string(m_header.size() - mostColumnsNamed) + " more";
        return Error::badArgument("no column is named '" + printableName(name) + "'", "it has " + names, m_path);
    }

    [[nodiscard]] Error unclosed(std::size_t line) const {
        return Error::badArgument("the quote that a field begins with here never closes",
                                  "close it, and write a quote that belongs to a quoted text twice", at(line));
    }

    const std::string m_path;
    const std::string_view m_text;
    const char m_delimiter;
    DelimitedFields m_fields;
    std::vector<std::string_view> m_header; ///< as it is written
    std::size_t m_records = 0;
};

std::string_view withoutByteOrderMark(std::string_view bytes) {
    constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
    return bytes.starts_with(byteOrderMark) ? bytes.substr(byteOrderMark.size()) : bytes;
}

Error tooLarge(const std::string &path, std::uint64_t bytes) {
    return Error::badArgument("it has " + std::to_string(bytes) + " bytes, and at most " +
                                  std::to_string(mostDelimitedBytes) + " are read",
                              "give a file with fewer records", path);
}

} // namespace

std::string DelimitedColumns::field(std::size_t column, std::size_t record) const {
    DelimitedFields fields(m_text.substr(m_begins[column][record]), m_delimiter);
    return contentOf(fields.next().value_or(std::string_view()));
}

Result<std::string> readDelimited(const std::string &path) {
    std::error_code none;
    if (const auto bytes = std::filesystem::file_size(path, none); !none && bytes > mostDelimitedBytes)
        return fail(tooLarge(path, bytes));
    auto text = realFileSystem().readAll(path, mostDelimitedBytes);
    if (!text) {
        Error error = text.error();
        error.kind = ErrorKind::BadArgument;
        if (error.wayOut.empty())
            error.wayOut = "give a CSV or TSV file that is there and can be read";
        return fail(error);
    }
    return text;
}

Result<DelimitedColumns> columnsOf(std::string_view bytes, const std::string &path,
                                   const std::vector<std::string> &names) {
    if (bytes.size() > mostDelimitedBytes)
        return fail(tooLarge(path, bytes.size()));
    return DelimitedFile(path, withoutByteOrderMark(bytes)).columns(names);
}

std::size_t lineOfRecord(std::string_view bytes, const std::string &path, std::size_t record) {
    return DelimitedFile(path, withoutByteOrderMark(bytes)).lineOf(record);
}

Result<std::vector<std::vector<std::string>>> readColumns(const std::string &path,
                                                          const std::vector<std::string> &names) {
    const auto text = readDelimited(path);
    if (!text)
        return fail(text.error());
    const auto columns = columnsOf(*text, path, names);
    if (!columns)
        return fail(columns.error());
    std::vector<std::vector<std::string>> contents(names.size());
    for (std::size_t column = 0; column < names.size(); ++column)
        for (std::size_t record = 0; record < columns->records(); ++record)
            contents[column].push_back(columns->field(column, record));
    return contents;
}

} // namespace lockstep::trainer
