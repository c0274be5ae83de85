// SPDX-License-Identifier: MIT
#pragma once
// Only for files in ipc. Writes and reads the keys of a document's objects, with their types checked.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ipc/command_template.h"
#include "ipc/documents.h"
#include "ipc/placement.h"
#include "ipc/script_claims.h"
#include "ipc/sound_values.h"
#include "ipc/thousands.h"

namespace lockstep::documents {

/// The most items that a document's lists of that name can have together: an empty object of three bytes can become hundreds when it is read.
/// Of an object, the most keys.
struct ListLimit {
    std::string_view key;
    std::size_t most;
};
inline constexpr std::size_t mostOfRanks = mostDevicesOfRun; ///< what a run has one of for each rank or device
inline constexpr auto listLimits = std::to_array<ListLimit>({{"machines", std::size_t(mostNodes)},
                                                             {"devices", mostOfRanks},
                                                             {"device_names", mostOfRanks},
                                                             {"interfaces", mostOfRanks},
                                                             {"ranks", mostOfRanks},
                                                             {"command", mostCommandWords},
                                                             {"known", 512}, // keys of a configuration
                                                             {"flags", mostFlags},
                                                             {"per_class_accuracy", 10'000},
                                                             {"class_names", 10'000},
                                                             {"warnings", 1'000}});
inline std::size_t mostItems(std::string_view key) {
    const auto limit = std::ranges::find(listLimits, key, &ListLimit::key);
    return limit == listLimits.end() ? mostValues : limit->most;
}

/// Writes an object's keys in order.
class DocumentWriter {
public:
    // An unknown value writes no key.
    template <class T> DocumentWriter &put(const char *key, const T &value) {
        m_object[key] = value;
        return *this;
    }
    DocumentWriter &put(const char *key, double value) {
        m_object[key] = documents::real(value);
        return *this;
    }
    template <class T> DocumentWriter &put(const char *key, const std::optional<T> &value) {
        return value ? put(key, *value) : *this;
    }
    DocumentWriter &put(const char *key, const std::string &text) {
        if (!text.empty())
            m_object[key] = text;
        return *this;
    }
    /// More than a reader takes are unknown: without them the rest of the document can be read.
    DocumentWriter &put(const char *key, const std::vector<double> &values) {
        if (values.size() > mostItems(key))
            return *this;
        Json array = Json::array();
        for (const double value : values)
            array.push_back(documents::real(value));
        return put(key, array);
    }
    template <class T, class Convert>
    DocumentWriter &list(const char *key, const std::vector<T> &items, Convert convert) {
        Json array = Json::array();
        for (const T &item : items)
            array.push_back(convert(item));
        return put(key, array);
    }
    Json take() { return std::move(m_object); }

private:
    Json m_object = Json::object();
};

/// Reads an object's keys and keeps the first mistake.
class DocumentReader {
public:
    DocumentReader(const Json &object, std::string what) : m_object(object), m_what(std::move(what)) {
        if (!object.is_object())
            mistake("", "an object");
    }

    void get(const char *key, std::string &value) {
        if (const Json *found = find(key, &Json::is_string, "a text"))
            value = found->get<std::string>();
    }
    void get(const char *key, bool &value) {
        if (const Json *found = find(key, &Json::is_boolean, "true or false"))
            value = found->get<bool>();
    }
    void get(const char *key, double &value) {
        if (const auto number = readReal(key))
            value = *number;
    }
    void get(const char *key, std::optional<double> &value) { value = readReal(key); }
    void get(const char *key, std::uint64_t &value) {
        if (const Json *found = find(key, &Json::is_number_unsigned, "a whole number from 0 on"))
            value = found->get<std::uint64_t>();
    }
    template <class T> void get(const char *key, std::optional<T> &value) {
        T read{};
        if (m_object.is_object() && m_object.contains(key) && !m_object[key].is_null()) {
            get(key, read);
            value = read;
        }
    }
    void get(const char *key, std::int64_t &value) {
        if (const auto number = readWhole(key, std::numeric_limits<std::int64_t>::max()))
            value = *number;
    }
    void get(const char *key, int &value) {
        if (const auto number = readWhole(key, std::numeric_limits<int>::max()))
            value = static_cast<int>(*number);
    }
    void get(const char *key, std::optional<int> &value) {
        if (const auto number = readWhole(key, std::numeric_limits<int>::max()))
            value = static_cast<int>(*number);
    }
    void get(const char *key, std::vector<std::string> &values) {
        each(key, [&](const Json &item) {
            if (!item.is_string())
                return mistake(key, "a list of texts");
            values.push_back(item.get<std::string>());
        });
    }
    void get(const char *key, std::vector<double> &values) {
        each(key, [&](const Json &item) {
            const auto number = realOf(item);
            if (!number)
                return mistake(key, "a list of numbers");
            values.push_back(*number);
        });
    }
    void get(const char *key, std::vector<std::int64_t> &values) {
        each(key, [&](const Json &item) {
            if (!item.is_number_integer())
                return mistake(key, "a list of whole numbers");
            values.push_back(item.get<std::int64_t>());
        });
    }
    template <class Compare> void get(const char *key, std::map<std::string, std::string, Compare> &values) {
        eachKey(key, [&](const std::string &name, const Json &value) {
            if (!value.is_string())
                return mistake(key, "an object of texts");
            values[name] = value.get<std::string>();
        });
    }
    template <class Use> void each(const char *key, Use use) {
        const Json *found = find(key, &Json::is_array, "a list");
        if (!found)
            return;
        if (found->size() > mostItems(key))
            return tooMany(key);
        for (const Json &item : *found)
            use(item);
    }
    void tooMany(const char *key) {
        mistake(key, "a list of at most " + thousands(std::int64_t(mostItems(key))) + " in the whole document");
    }
    template <class Use> void eachKey(const char *key, Use use) {
        const Json *found = find(key, &Json::is_object, "an object");
        if (!found)
            return;
        if (found->size() > mostItems(key))
            return mistake(key, "an object of at most " + thousands(std::int64_t(mostItems(key))) + " keys, not " +
                                    thousands(std::int64_t(found->size())));
        for (const auto &[name, value] : found->items())
            use(name, value);
    }
    const Json *object(const char *key) { return find(key, &Json::is_object, "an object"); }

    void mistake(const std::string &key, const std::string &expected) {
        if (!m_error)
            m_error =
                Error::badArgument(m_what + (key.empty() ? "" : "'s key \"" + key + "\"") + " should be " + expected);
    }
    void adopt(Error error) {
        if (!m_error)
            m_error = std::move(error);
    }
    template <class T> Result<T> finish(T value) {
        if (m_error)
            return fail(std::move(*m_error));
        return value;
    }
    [[nodiscard]] const std::optional<Error> &error() const { return m_error; }

    static std::optional<double> realOf(const Json &value) {
        if (value.is_number())
            return value.get<double>();
        if (!value.is_string())
            return std::nullopt;
        const auto &text = value.get_ref<const std::string &>();
        if (text == "NaN")
            return std::numeric_limits<double>::quiet_NaN();
        if (text == "Inf" || text == "-Inf")
            return (text == "Inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
        return std::nullopt;
    }

    /// Keys carry their units: one that ends in _s is a duration.
    static bool isUnsoundDuration(std::string_view key, double value) {
        return key.ends_with("_s") && !isDuration(value);
    }

private:
    const Json *find(const char *key, bool (Json::*is)() const noexcept, const char *expected) {
        if (!m_object.is_object())
            return nullptr;
        const auto found = m_object.find(key);
        if (found == m_object.end() || found->is_null())
            return nullptr;
        if (((*found).*is)())
            return &*found;
        mistake(key, expected);
        return nullptr;
    }
    std::optional<double> readReal(const char *key) {
        if (!m_object.is_object())
            return std::nullopt;
        const auto found = m_object.find(key);
        if (found == m_object.end() || found->is_null())
            return std::nullopt;
        const auto number = realOf(*found);
        if (!number)
            mistake(key, "a number");
        else if (isUnsoundDuration(key, *number))
            mistake(key, expectedDuration(*number));
        return number;
    }
    std::optional<std::int64_t> readWhole(const char *key, std::int64_t high) {
        const Json *found = find(key, &Json::is_number_integer, "a whole number");
        if (!found)
            return std::nullopt;
        // get<int64_t> of an unsigned number beyond int64's range would wrap around.
        if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(high)) {
            mistake(key, "a smaller number");
            return std::nullopt;
        }
        const auto number = found->get<std::int64_t>();
        if (number < -high) {
            mistake(key, "a larger number");
            return std::nullopt;
        }
        return number;
    }

    const Json &m_object;
    std::string m_what;
    std::optional<Error> m_error;
};

} // namespace lockstep::documents
