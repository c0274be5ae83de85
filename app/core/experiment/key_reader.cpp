// SPDX-License-Identifier: MIT
#include "experiment/key_reader.h"
#include "ipc/nearest_word.h"
#include "ipc/thousands.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

namespace lockstep::core {

namespace {

constexpr std::size_t mostRemarks = 1'000;

} // namespace

std::string quotedNode(const JsonNode &value) {
    switch (value.kind) {
    case JsonNode::Kind::Text:
        return "\"" + value.text.substr(0, 60) + "\"";
    case JsonNode::Kind::List:
    case JsonNode::Kind::Object:
        return std::string(toString(value.kind));
    default:
        return value.text;
    }
}

void KeyReader::complain(int line, std::string_view key, std::string what, std::string wayOut) {
    if (m_errors.size() >= mostMistakesNamed) {
        ++m_more;
        return;
    }
    std::string where = m_file.empty() ? "line " + std::to_string(line) : m_file + ":" + std::to_string(line);
    if (!key.empty())
        where += ": " + std::string(key);
    m_errors.push_back(Error::badArgument(std::move(what), std::move(wayOut), std::move(where)));
}

std::vector<Error> KeyReader::errors() const {
    std::vector<Error> out = m_errors;
    if (m_more > 0)
        out.push_back(Error::badArgument("there are " + thousands(std::int64_t(m_more)) + " more mistakes",
                                         "correct those above first", m_file));
    return out;
}

void KeyReader::qualifyErrors(std::size_t from, const std::string &about) {
    const auto first = m_errors.begin() + std::ptrdiff_t(std::min(from, m_errors.size()));
    for (auto error = first; error != m_errors.end(); ++error)
        error->what += about;
    const auto isKnown = [&](const Error &error) {
        return std::any_of(m_errors.begin(), first,
                           [&](const Error &earlier) { return earlier.message() == error.message(); });
    };
    m_errors.erase(std::remove_if(first, m_errors.end(), isKnown), m_errors.end());
}

void KeyReader::refuseUnknown(const JsonNode &object, const std::vector<std::string> &known) {
    constexpr std::size_t mostNamed = 20; // a file can have hundreds of thousands
    const std::unordered_set<std::string_view> right(known.begin(), known.end());
    std::unordered_set<std::string_view> seen;
    std::size_t wrong = 0;
    for (const auto &[key, value] : object.members) {
        const bool twice = !seen.insert(key).second, unknown = !right.contains(key);
        if ((twice || unknown) && ++wrong > mostNamed)
            continue;
        if (twice)
            complain(value.line, key, "the key is there twice", "remove one of them");
        if (!unknown)
            continue;
        const std::string near = nearestWord(key, known);
        complain(value.line, key, "unknown key", near.empty() ? "remove it" : "did you mean \"" + near + "\"?");
    }
    if (wrong > mostNamed)
        complain(object.line, "", "and " + std::to_string(wrong - mostNamed) + " more keys are unknown or there twice",
                 "remove them");
}

bool KeyReader::isObject(const JsonNode &node, std::string_view key) {
    if (node.kind == JsonNode::Kind::Object)
        return true;
    complain(node.line, key, "must be an object, not " + quotedNode(node), "write {…}");
    return false;
}

std::string KeyReader::text(const JsonNode &object, std::string_view key, bool required) {
    const JsonNode *node = object.member(key);
    if (!node) {
        if (required)
            complain(object.line, key, "is missing", "add it");
        return {};
    }
    if (node->kind != JsonNode::Kind::Text) {
        complain(node->line, key, "must be a text, not " + quotedNode(*node), "put it in quotes");
        return {};
    }
    if (required && node->text.empty())
        complain(node->line, key, "is empty", "fill it in");
    return node->text;
}

std::optional<double> KeyReader::number(const JsonNode &object, std::string_view key, double low, double high) {
    const JsonNode *node = object.member(key);
    if (!node || node->kind == JsonNode::Kind::Null)
        return std::nullopt;
    double value = NAN;
    if (node->number())
        std::from_chars(node->text.data(), node->text.data() + node->text.size(), value);
    if (!(value >= low && value <= high)) {
        complain(node->line, key,
                 "must be a number" + std::string(high == 1 ? " from 0 to 1" : " of at least 0") + ", not " +
                     quotedNode(*node),
                 "correct it");
        return std::nullopt;
    }
    return value;
}

std::optional<std::int64_t> KeyReader::whole(const JsonNode &object, std::string_view key, std::int64_t low,
                                             std::int64_t high) {
    const JsonNode *node = object.member(key);
    if (!node || node->kind == JsonNode::Kind::Null)
        return std::nullopt;
    std::int64_t value = low - 1;
    if (node->kind == JsonNode::Kind::Integer)
        std::from_chars(node->text.data(), node->text.data() + node->text.size(), value);
    if (value < low || value > high) {
        complain(node->line, key,
                 "must be a whole number from " + std::to_string(low) + " to " + thousands(high) + ", not " +
                     quotedNode(*node),
                 "use " + std::to_string(low) + " or more");
        return std::nullopt;
    }
    return value;
}

std::vector<std::string> KeyReader::texts(const JsonNode &object, std::string_view key) {
    std::vector<std::string> out;
    const JsonNode *node = object.member(key);
    if (!node)
        return out;
    if (node->kind != JsonNode::Kind::List)
        complain(node->line, key, "must be a list of texts, not " + quotedNode(*node), "write [\"…\"]");
    for (const JsonNode &item : node->items)
        if (item.kind == JsonNode::Kind::Text)
            out.push_back(item.text);
        else
            complain(item.line, key, "must contain only texts, not " + quotedNode(item), "put it in quotes");
    return out;
}

std::vector<std::string> KeyReader::remarks(const JsonNode &object, std::string_view key) {
    const JsonNode *node = object.member(key);
    if (!node || node->items.size() <= mostRemarks)
        return texts(object, key);
    complain(node->line, key, "must have at most " + thousands(mostRemarks) + " texts", "remove some");
    return {};
}

std::vector<double> KeyReader::numbers(const JsonNode &object, std::string_view key, double low, double high) {
    std::vector<double> out;
    const JsonNode *node = object.member(key);
    if (!node)
        return out;
    if (node->kind != JsonNode::Kind::List)
        complain(node->line, key, "must be a list of numbers, not " + quotedNode(*node), "write [1, 2]");
    for (const JsonNode &item : node->items) {
        JsonNode holder;
        holder.kind = JsonNode::Kind::Object;
        holder.members.push_back({std::string(key), item});
        if (const auto value = number(holder, key, low, high))
            out.push_back(*value);
    }
    return out;
}

} // namespace lockstep::core
