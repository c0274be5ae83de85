// SPDX-License-Identifier: MIT
#pragma once
// Only for .cpp files, never for a public header. Documents as values of nlohmann's JSON library, and how what comes from
// outside is read: other programs' answers, other machines', files that others may have written. Such text may be anything.
// It is read without an exception, and no deeper than writing it again could stand.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "ipc/run_config.h"

namespace lockstep::documents {

using Json = nlohmann::ordered_json;

/// A number; non-finite ones become "NaN", "Inf" or "-Inf", as in frames.
[[nodiscard]] Json real(double number);
/// One line; invalid UTF-8 is replaced.
[[nodiscard]] std::string line(const Json &json);
/// Indented and with a newline at the end, for files that people open.
[[nodiscard]] std::string page(const Json &json);
/// More than an experiment of 10,000 runs has, each with a command of 200 words.
inline constexpr std::size_t mostValues = 3'000'000;
/// What keeps a text from being read as a document beside its size: depth, values, keys of one object. In words that follow its name;
/// empty: nothing. `most`: values.
[[nodiscard]] std::string limitBroken(std::string_view text, std::size_t most = mostValues);
/// Parses an object. The error says on which line the JSON is wrong; `what` names the text in it, e.g. "config.json".
[[nodiscard]] Result<Json> parseObject(std::string_view text, std::string_view what, std::size_t most = mostValues);
/// The same for readers that catch: throws std::runtime_error with that error's sentence, which begins with "it".
[[nodiscard]] Json objectIn(std::string_view text, std::size_t most = mostValues);
/// The same for an answer that is ignored unless it is an object: else null.
[[nodiscard]] Json objectOrNull(std::string_view text);

/// The key's value if it is a T (a whole number within that type's range). Never throws.
template <class T, class Object> [[nodiscard]] std::optional<T> optionalIn(const Object &object, const char *key) {
    if (!object.is_object())
        return std::nullopt;
    const auto found = object.find(key);
    if (found == object.end())
        return std::nullopt;
    if constexpr (std::is_same_v<T, bool>) {
        if (found->is_boolean())
            return found->template get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
        if (found->is_number_unsigned()) {
            if (const auto value = found->template get<std::uint64_t>(); std::in_range<T>(value))
                return static_cast<T>(value);
        } else if (found->is_number_integer())
            if (const auto value = found->template get<std::int64_t>(); std::in_range<T>(value))
                return static_cast<T>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
        if (found->is_number())
            return found->template get<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (found->is_string())
            return found->template get<std::string>();
    } else {
        static_assert(std::is_same_v<T, std::vector<std::string>>, "a bool, a number, a text, or a list of texts");
        if (found->is_array() &&
            std::all_of(found->begin(), found->end(), [](const Object &one) { return one.is_string(); }))
            return found->template get<T>();
    }
    return std::nullopt;
}

/// The same with a fallback, whose type is the wanted one. A fallback of JSON wants a value of the same kind: Json::array() an array.
template <class Object, class T> [[nodiscard]] T valueIn(const Object &object, const char *key, T fallback) {
    if constexpr (std::is_same_v<T, Object>) {
        if (!object.is_object())
            return fallback;
        const auto found = object.find(key);
        return found != object.end() && found->type() == fallback.type() ? *found : fallback;
    } else {
        return optionalIn<T>(object, key).value_or(std::move(fallback));
    }
}
template <class Object> [[nodiscard]] std::string valueIn(const Object &object, const char *key, const char *fallback) {
    return valueIn(object, key, std::string(fallback));
}

/// Of a script, keys that say nothing about it are left out where they hold their defaults.
[[nodiscard]] Json fromConfig(const RunConfig &config, const ScriptClaims &claims = {});

enum class UnknownKeys { Refuse, Ignore };
/// `text` is the whole document and `path` the object's place in it; with both, errors name the line.
[[nodiscard]] tl::expected<RunConfig, std::vector<Error>>
toConfig(const Json &object, UnknownKeys unknown, std::string_view text = {}, const std::string &path = {});

} // namespace lockstep::documents
