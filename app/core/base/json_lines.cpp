// SPDX-License-Identifier: MIT
#include "base/json_lines.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

namespace lockstep::core {
namespace {

/// Counts lines as the parser reads: nlohmann's SAX events have no position.
class CountingIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char *;
    using reference = const char &;

    CountingIterator(const char *at, int *line) : m_at(at), m_line(line) {}
    reference operator*() const { return *m_at; }
    CountingIterator &operator++() {
        if (*m_at == '\n')
            ++*m_line;
        ++m_at;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountingIterator &other) const { return m_at == other.m_at; }
    bool operator!=(const CountingIterator &other) const { return m_at != other.m_at; }

private:
    const char *m_at;
    int *m_line;
};

/// Builds JsonNodes from SAX events.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit Builder(const int *line) : m_line(line) {}
    JsonNode root;
    std::string error;
    int errorLine = 1;

    bool null() override { return put(JsonNode::Kind::Null, "null"); }
    bool boolean(bool value) override { return put(JsonNode::Kind::Switch, value ? "true" : "false"); }
    bool number_integer(number_integer_t value) override { return put(JsonNode::Kind::Integer, std::to_string(value)); }
    bool number_unsigned(number_unsigned_t value) override {
        return put(JsonNode::Kind::Integer, std::to_string(value));
    }
    bool number_float(number_float_t, const string_t &text) override { return put(JsonNode::Kind::Real, text); }
    bool string(string_t &value) override { return put(JsonNode::Kind::Text, value); }
    bool binary(binary_t &) override { return false; }
    bool start_object(std::size_t) override { return open(JsonNode::Kind::Object); }
    bool start_array(std::size_t) override { return open(JsonNode::Kind::List); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t &name) override {
        m_key = name;
        m_keyLine = *m_line;
        return true;
    }
    bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &exception) override {
        errorLine = *m_line;
        const std::string text = exception.what();
        const auto from = text.find("syntax error");
        error = from == std::string::npos ? text : text.substr(from);
        return false;
    }

private:
    JsonNode &place() {
        if (m_open.empty())
            return root;
        JsonNode &parent = *m_open.back();
        if (parent.kind == JsonNode::Kind::List)
            return parent.items.emplace_back();
        return parent.members.emplace_back(JsonMember{std::move(m_key), JsonNode()}).value;
    }
    JsonNode &fresh(JsonNode::Kind kind) {
        const bool keyed = !m_open.empty() && m_open.back()->kind == JsonNode::Kind::Object;
        JsonNode &node = place();
        node.kind = kind;
        node.line = keyed ? m_keyLine : *m_line;
        return node;
    }
    bool put(JsonNode::Kind kind, std::string text) {
        fresh(kind).text = std::move(text);
        return true;
    }
    bool open(JsonNode::Kind kind) {
        if (m_open.size() > 64) {
            errorLine = *m_line;
            error = "more than 64 levels deep";
            return false;
        }
        // A parent's vector grows only while the parent itself is on top, so these pointers hold.
        m_open.push_back(&fresh(kind));
        return true;
    }
    bool close() {
        m_open.pop_back();
        return true;
    }

    const int *m_line;
    std::vector<JsonNode *> m_open;
    std::string m_key;
    int m_keyLine = 1;
};

} // namespace

const JsonNode *JsonNode::member(std::string_view key) const {
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto &member) { return member.key == key; });
    return found == members.end() ? nullptr : &found->value;
}

std::string_view toString(JsonNode::Kind kind) {
    switch (kind) {
    case JsonNode::Kind::Null:
        return "null";
    case JsonNode::Kind::Switch:
        return "true or false";
    case JsonNode::Kind::Integer:
        return "a whole number";
    case JsonNode::Kind::Real:
        return "a number";
    case JsonNode::Kind::Text:
        return "a text";
    case JsonNode::Kind::List:
        return "a list";
    case JsonNode::Kind::Object:
        return "an object";
    }
    return "";
}

Result<JsonNode> parseJsonLines(std::string_view text) {
    int line = 1;
    Builder builder(&line);
    const CountingIterator first(text.data(), &line), last(text.data() + text.size(), &line);
    if (!nlohmann::json::sax_parse(first, last, &builder))
        return fail(Error::badArgument("not valid JSON: " + builder.error, "correct that line",
                                       std::to_string(builder.errorLine)));
    return std::move(builder.root);
}

} // namespace lockstep::core
