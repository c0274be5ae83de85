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
            const std::string inner = path + "/" + quotedText();
            if (!m_places.lines.emplace(inner, line).second)
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
            const std::string inner = path + "/" + std::to_string(i);
            m_places.lines.emplace(inner, m_line);
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
