// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "ipc/documents.h"
#include "ipc/json_text.h"

namespace lockstep {

namespace documents {

Json real(double number) {
    if (std::isnan(number))
        return "NaN";
    if (std::isinf(number))
        return number > 0 ? "Inf" : "-Inf";
    return number;
}

std::string line(const Json &json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
std::string page(const Json &json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

/// What a document may cost beside its size: each value takes some 40 bytes, however short its text is, and Json keeps an object's
/// keys in their order and compares each new one with all before it. It is read once for that alone, since a parser with a callback
/// looks through a whole list after each object in it.
class ParseLimits final : public nlohmann::json_sax<Json> {
public:
    ParseLimits(std::size_t textBytes, std::size_t most)
        : m_mostValues(most), m_mostCompared(std::min<std::size_t>(1'000'000 + 32 * textBytes, 300'000'000)) {}

    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(Json::number_integer_t) override { return value(); }
    bool number_unsigned(Json::number_unsigned_t) override { return value(); }
    bool number_float(Json::number_float_t, const std::string &) override { return value(); }
    bool string(std::string &) override { return value(); }
    bool binary(Json::binary_t &) override { return value(); }
    bool start_object(std::size_t) override { return open(); }
    bool start_array(std::size_t) override { return open(); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(std::string &) override {
        m_compared += m_keys[m_depth]++;
        return m_compared <= m_mostCompared;
    }
    bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override { return false; }

    /// What the document is beyond them; empty: within.
    [[nodiscard]] std::string broken() const {
        if (m_tooDeep)
            return " is nested too deeply";
        if (m_values > m_mostValues)
            return " has more than " + std::to_string(m_mostValues) + " values";
        return m_compared > m_mostCompared ? " has too many keys" : "";
    }

private:
    bool value() {
        m_tooDeep = m_depth > deepest;
        return !m_tooDeep && ++m_values <= m_mostValues;
    }
    bool open() {
        if (!value())
            return false;
        m_keys[++m_depth] = 0;
        return true;
    }
    bool close() {
        --m_depth;
        return true;
    }

    static constexpr std::size_t deepest = 64;
    std::size_t m_mostValues, m_mostCompared, m_compared = 0, m_depth = 0, m_values = 0;
    std::array<std::size_t, deepest + 2> m_keys{}; ///< of the object that is open at that depth
    bool m_tooDeep = false;
};

} // namespace

std::string limitBroken(std::string_view text, std::size_t most) {
    ParseLimits limits(text.size(), most);
    (void)Json::sax_parse(text.begin(), text.end(), &limits);
    return limits.broken();
}

Result<Json> parseObject(std::string_view text, std::string_view what, std::size_t most) {
    try {
        if (const std::string broken = limitBroken(text, most); !broken.empty())
            return fail(Error::badArgument(std::string(what) + broken));
        Json json = Json::parse(text.begin(), text.end());
        if (!json.is_object())
            return fail(Error::badArgument(std::string(what) + " should be a JSON object"));
        return json;
    } catch (const Json::parse_error &error) {
        const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
        const auto lineNumber = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        return fail(
            Error::badArgument(std::string(what) + " is not valid JSON from line " + std::to_string(lineNumber) + " on",
                               "correct it there", "line " + std::to_string(lineNumber)));
    } catch (const Json::exception &) { // a number that is too large for any of JSON's types
        return fail(Error::badArgument(std::string(what) + " has a number that is out of range"));
    }
}

Json objectIn(std::string_view text, std::size_t most) {
    Result<Json> json = parseObject(text, "it", most);
    if (!json)
        throw std::runtime_error(json.error().what);
    return std::move(*json);
}

Json objectOrNull(std::string_view text) {
    return parseObject(text, "it").value_or(nullptr);
}

Json fromConfig(const RunConfig &config, const ScriptClaims &claims) {
    Json object = Json::object();
    const RunConfig defaults;
    for (const FieldSpec &field : runConfigFields()) {
        const std::string text = field.get(config);
        if (!claims.knows(field.key) && text == field.get(defaults))
            continue;
        Json &value = object[std::string(field.key)];
        switch (field.type) {
        case FieldType::Text:
        case FieldType::Choice:
            value = text;
            break;
        case FieldType::Switch:
            value = text == "true";
            break;
        case FieldType::List:
            value = config.devices; // the only field that is a list
            break;
        case FieldType::Integer:
        case FieldType::Real:
            value = Json::parse(text, nullptr, false);
            if (value.is_discarded()) // empty, or non-finite, which no valid configuration contains
                value = nullptr;
            break;
        }
    }
    return object;
}

namespace {

std::string_view expectedOf(FieldType type) {
    switch (type) {
    case FieldType::Text:
    case FieldType::Choice:
        return "a text";
    case FieldType::Integer:
        return "a whole number";
    case FieldType::Real:
        return "a number";
    case FieldType::Switch:
        return "true or false";
    case FieldType::List:
        return "a list of device numbers or GPU UUIDs";
    }
    return "a value";
}

/// The JSON value as text for FieldSpec::set; absent if its type is wrong.
std::optional<std::string> asText(const FieldSpec &field, const Json &value) {
    switch (field.type) {
    case FieldType::Text:
    case FieldType::Choice:
        return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
    case FieldType::Integer:
        return value.is_number_integer() ? std::optional(value.dump()) : std::nullopt;
    case FieldType::Real:
        return value.is_number() ? std::optional(value.dump()) : std::nullopt;
    case FieldType::Switch:
        return value.is_boolean() ? std::optional(value.dump()) : std::nullopt;
    case FieldType::List:
        break;
    }
    if (!value.is_array())
        return std::nullopt;
    std::string text;
    for (const Json &item : value) {
        if (!item.is_string() && !item.is_number_unsigned())
            return std::nullopt;
        text += (text.empty() ? "" : ",") + (item.is_string() ? item.get<std::string>() : item.dump());
    }
    return text;
}

} // namespace

tl::expected<RunConfig, std::vector<Error>> toConfig(const Json &object, UnknownKeys unknown, std::string_view text,
                                                     const std::string &path) {
    const JsonPlaces places = findPlaces(text);
    RunConfig config;
    std::vector<Error> errors;
    const auto mistake = [&](const std::string &key, std::string what, std::string wayOut) {
        const int line = places.lineOf(path + "/" + key);
        errors.push_back(Error::badArgument(std::move(what), std::move(wayOut),
                                            (line > 0 ? "line " + std::to_string(line) + ", " : std::string()) + key));
    };
    for (const auto &[key, value] : object.items()) {
        const FieldSpec *field = findField(key);
        if (!field && unknown == UnknownKeys::Refuse)
            mistake(key.substr(0, 60), "there is no such key", keyInstead(key));
        if (!field || (value.is_null() && field->get(RunConfig{}).empty()))
            continue;
        if (const auto plain = asText(*field, value); !plain)
            mistake(key, line(value).substr(0, 60) + " should be " + std::string(expectedOf(field->type)),
                    "the default is " + line(fromConfig(RunConfig{})[key]));
        else if (auto set = field->set(config, *plain); !set)
            mistake(key, set.error().what, set.error().wayOut);
    }
    for (const std::string &doubled : places.doubled)
        if (doubled.starts_with(path + "/") && doubled.find('/', path.size() + 1) == std::string::npos)
            mistake(doubled.substr(path.size() + 1), "the key is given twice", "keep one of them");
    if (!errors.empty())
        return tl::unexpected(std::move(errors));
    return config;
}

} // namespace documents

std::string toJson(const RunConfig &config, const ScriptClaims &claims) {
    return documents::line(documents::fromConfig(config, claims));
}

tl::expected<RunConfig, std::vector<Error>> runConfigFromJson(std::string_view text) {
    const auto object = documents::parseObject(text, "the configuration");
    if (!object)
        return tl::unexpected(std::vector<Error>{object.error()});
    return documents::toConfig(*object, documents::UnknownKeys::Refuse, text);
}

} // namespace lockstep
