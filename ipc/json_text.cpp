// SPDX-License-Identifier: MIT
#include "ipc/json_text.h"

namespace lockstep {

namespace {

class Scanner {
public:
    explicit Scanner(std::string_view text) : m_text(text) {}

    JsonPlaces scan() {
        value("", 0);
        return std::move(m_places);
    }

private:
    static constexpr int maxDepth = 64;
    static constexpr std::size_t longestPath = 200, mostPlaces = 100'000; // more than any document of ours has

    /// Cut where it is too long, as those of everything below it are then.
    static std::string within(const std::string &path, std::string_view key) {
        return path.size() > longestPath ? path : path + "/" + std::string(key.substr(0, longestPath));
    }
    /// False: it is there already.
    bool add(const std::string &path, int line) {
        if (path.size() > longestPath || m_places.lines.size() >= mostPlaces)
            return true;
        return m_places.lines.emplace(path, line).second;
    }

    char peek() {
        for (; m_at < m_text.size(); ++m_at) {
            const char c = m_text[m_at];
            if (c == '\n')
                ++m_line;
            else if (c != ' ' && c != '\t' && c != '\r')
                return c;
        }
        return '\0';
    }

    /// The raw text between the quotes. Escapes are kept; our own keys have none.
    std::string quotedText() {
        const std::size_t from = ++m_at;
        while (m_at < m_text.size() && m_text[m_at] != '"')
            m_at += m_text[m_at] == '\\' ? 2 : 1;
        const std::size_t to = std::min(m_at, m_text.size());
        ++m_at;
        return std::string(m_text.substr(from, to - from));
    }

    void value(const std::string &path, int depth) {
        const char c = peek();
        if (depth > maxDepth)
            m_at = m_text.size();
        else if (c == '{')
            object(path, depth);
        else if (c == '[')
            array(path, depth);
        else if (c == '"')
            quotedText();
        else
            while (m_at < m_text.size() && std::string_view(",]} \n\r\t").find(m_text[m_at]) == std::string_view::npos)
                ++m_at;
    }

    void object(const std::string &path, int depth) {
        ++m_at;
        while (peek() == '"') {
            const int line = m_line;
            const std::string inner = within(path, quotedText());
            if (!add(inner, line))
                m_places.doubled.push_back(inner);
            if (peek() != ':')
                break;
            ++m_at;
            value(inner, depth + 1);
            if (peek() != ',')
                break;
            ++m_at;
        }
        close('}');
    }

    void array(const std::string &path, int depth) {
        ++m_at;
        for (int i = 0; peek() != ']' && m_at < m_text.size(); ++i) {
            const std::string inner = within(path, std::to_string(i));
            add(inner, m_line);
            value(inner, depth + 1);
            if (peek() != ',')
                break;
            ++m_at;
        }
        close(']');
    }

    void close(char bracket) {
        if (peek() == bracket)
            ++m_at;
        else
            m_at = m_text.size(); // not JSON: no further places are found
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    int m_line = 1;
    JsonPlaces m_places;
};

} // namespace

int JsonPlaces::lineOf(std::string_view path) const {
    const auto found = lines.find(path);
    return found == lines.end() ? 0 : found->second;
}

JsonPlaces findPlaces(std::string_view text) {
    return Scanner(text).scan();
}

} // namespace lockstep
