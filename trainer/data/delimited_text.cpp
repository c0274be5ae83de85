// SPDX-License-Identifier: MIT
#include "trainer/data/delimited_text.h"

#include <algorithm>
#include <optional>

#include "ipc/file_system.h"
#include "ipc/printable.h"

namespace lockstep::trainer {
namespace {

constexpr std::size_t mostColumns = 100'000; ///< far above every data set; each takes memory, however short its name
constexpr std::size_t mostColumnsNamed = 20; ///< in a sentence

/// Takes a text apart, field by field.
class DelimitedFields {
public:
    DelimitedFields(std::string_view text, char delimiter) : m_rest(text), m_delimiter(delimiter) {}

    /// Skips empty lines; whether a record follows, which then begins at line().
    bool findRecord() {
        while (!m_rest.empty() && atLineEnd())
            takeLineEnd();
        return !m_rest.empty();
    }
    [[nodiscard]] std::size_t line() const { return m_line; }

    /// The record's next field, good until the next call; nothing if a quote in it never closes.
    std::optional<std::string_view> next() {
        if (m_rest.empty() || m_rest.front() != '"')
            return untilEnd();
        m_rest.remove_prefix(1);
        const auto quoted = untilQuote();
        if (!quoted || m_rest.empty() || (m_rest.front() != '"' && (m_rest.front() == m_delimiter || atLineEnd())))
            return quoted;
        m_joined = *quoted;
        while (!m_rest.empty() && m_rest.front() == '"') { // doubled: one of the text, which goes on
            m_rest.remove_prefix(1);
            const auto more = untilQuote();
            if (!more)
                return {};
            m_joined.append("\"").append(*more);
        }
        m_joined += untilEnd(); // text after the closing quote belongs to the field
        return m_joined;
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

    std::string_view untilEnd() {
        std::size_t bytes = 0;
        while (bytes < m_rest.size() && m_rest[bytes] != m_delimiter && m_rest[bytes] != '\n' && m_rest[bytes] != '\r')
            ++bytes;
        return take(bytes);
    }

    std::optional<std::string_view> untilQuote() {
        const std::size_t quote = m_rest.find('"');
        if (quote == std::string_view::npos)
            return {};
        const auto text = take(quote);
        for (std::size_t at = text.find_first_of("\r\n"); at != std::string_view::npos;
             at = text.find_first_of("\r\n", at)) {
            at += text.substr(at, 2) == "\r\n" ? 2 : 1;
            ++m_line;
        }
        m_rest.remove_prefix(1);
        return text;
    }

    std::string_view take(std::size_t bytes) {
        const auto text = m_rest.substr(0, bytes);
        m_rest.remove_prefix(text.size());
        return text;
    }

    std::string_view m_rest;
    const char m_delimiter;
    std::size_t m_line = 1; ///< counted from 1
    std::string m_joined;   ///< a field that does not lie in the text in one piece
};

class DelimitedFile {
public:
    DelimitedFile(const std::string &path, std::string_view text)
        : m_path(path), m_delimiter(delimiterOf(path, text)), m_fields(text, m_delimiter) {}

    Result<std::vector<std::vector<std::string>>> columns(const std::vector<std::string> &names) {
        if (!m_fields.findRecord())
            return fail(Error::badArgument("it is empty", "give a file whose first line names the columns", m_path));
        if (auto read = readHeader(); !read)
            return fail(read.error());
        std::vector<std::vector<std::string>> columns(names.size());
        std::vector<std::vector<std::size_t>> takers(m_header.size()); // a column may be asked for twice
        for (std::size_t name = 0; name < names.size(); ++name) {
            const auto found = std::find(m_header.begin(), m_header.end(), names[name]);
            if (found == m_header.end())
                return fail(noColumn(names[name]));
            takers[found - m_header.begin()].push_back(name);
        }
        while (m_fields.findRecord())
            if (auto read = readRecord(takers, columns); !read)
                return fail(read.error());
        if (m_records == 0)
            return fail(
                Error::badArgument("it names its columns, but holds no record", "give a file with records", m_path));
        return columns;
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
            m_header.emplace_back(*name);
        } while (m_fields.hasMore());
        return {};
    }

    Result<void> readRecord(const std::vector<std::vector<std::size_t>> &takers,
                            std::vector<std::vector<std::string>> &columns) {
        const std::size_t line = m_fields.line();
        std::size_t count = 0;
        do {
            const std::size_t quoteLine = m_fields.line();
            const auto field = m_fields.next();
            if (!field)
                return fail(unclosed(quoteLine));
            if (count < takers.size())
                for (const std::size_t taker : takers[count])
                    columns[taker].emplace_back(*field);
            ++count;
        } while (m_fields.hasMore());
        if (count != takers.size())
            return fail(Error::badArgument("the record has " + fieldsText(count) + ", but the first line names " +
                                               std::to_string(takers.size()),
                                           std::string("put a field that holds a ") + delimiterName() +
                                               " or a line end in quotes, or mend the line",
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
            names += (i == 0 ? "'" : ", '") + printableName(m_header[i]) + "'";
        if (m_header.size() > mostColumnsNamed)
            names += " and " + std::to_string(m_header.size() - mostColumnsNamed) + " more";
        return Error::badArgument("no column is named '" + printableName(name) + "'", "it has " + names, m_path);
    }

    [[nodiscard]] Error unclosed(std::size_t line) const {
        return Error::badArgument("the quote that a field begins with here never closes",
                                  "close it, and write a quote that belongs to a quoted text twice", at(line));
    }

    const std::string m_path;
    const char m_delimiter;
    DelimitedFields m_fields;
    std::vector<std::string> m_header;
    std::size_t m_records = 0;
};

std::string_view withoutByteOrderMark(std::string_view bytes) {
    constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
    return bytes.starts_with(byteOrderMark) ? bytes.substr(byteOrderMark.size()) : bytes;
}

} // namespace

Result<std::string> readDelimited(const std::string &path) {
    auto text = realFileSystem().readAll(path, anySize);
    if (!text) {
        Error error = text.error();
        error.kind = ErrorKind::BadArgument;
        if (error.wayOut.empty())
            error.wayOut = "give a CSV or TSV file that is there and can be read";
        return fail(error);
    }
    return text;
}

Result<std::vector<std::vector<std::string>>> columnsOf(std::string_view bytes, const std::string &path,
                                                        const std::vector<std::string> &names) {
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
    return columnsOf(*text, path, names);
}

} // namespace lockstep::trainer
