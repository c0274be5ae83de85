// SPDX-License-Identifier: MIT
#pragma once
// Only for files in ipc. Reads the keys of one JSON object with simdjson, with each value checked; the first mistake is
// kept.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/printable.h"
#include "ipc/sound_values.h"

namespace lockstep::detail {

namespace dom = simdjson::dom;

/// Keeps the first mistake. Reading may go on after it.
struct Mistake {
    std::optional<Error> error;
    void set(std::string_view key, std::string expected) {
        if (!error)
            error = Error::failed("a frame's key \"" + std::string(key.substr(0, 80)) + "\" should be " + expected);
    }
};

inline bool hasDoubledKey(const dom::object &object) {
    // A frame's objects are small: comparing each key with those before it needs no memory, and most keys differ in
    // length.
    constexpr std::size_t few = 24;
    std::array<std::string_view, few> seen;
    if (object.size() <= few) {
        std::size_t count = 0;
        for (const auto field : object) {
            for (std::size_t i = 0; i < count; ++i)
                if (seen[i] == field.key)
                    return true;
            seen[count++] = field.key;
        }
        return false;
    }
    std::vector<std::string_view> keys;
    for (const auto field : object)
        keys.push_back(field.key);
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
}

inline bool anyDuplicate(const dom::element &element) {
    if (element.is_object()) {
        const dom::object object = element.get_object().value_unsafe();
        if (hasDoubledKey(object))
            return true;
        for (const auto field : object)
            if (anyDuplicate(field.value))
                return true;
    } else if (element.is_array()) {
        const dom::array array = element.get_array().value_unsafe();
        for (const auto item : array)
            if (anyDuplicate(item))
                return true;
    }
    return false;
}

inline bool readReal(const dom::element &element, double &value) {
    if (element.is_string()) {
        const std::string_view text = element.get_string().value_unsafe();
        if (text == "NaN")
            value = std::numeric_limits<double>::quiet_NaN();
        else if (text == "Inf")
            value = std::numeric_limits<double>::infinity();
        else if (text == "-Inf")
            value = -std::numeric_limits<double>::infinity();
        else
            return false;
        return true;
    }
    return element.is_number() && element.get_double().get(value) == simdjson::SUCCESS;
}

/// The keys of one object, each read once; keys that were not asked for stay unread.
class ObjectReader {
public:
    ObjectReader(const dom::object &object, Mistake &mistake) : m_mistake(mistake) {
        m_fields.reserve(object.size());
        for (const auto field : object)
            m_fields.push_back({field.key, field.value, false});
    }

    /// nullptr when the key is absent or null.
    const dom::element *find(std::string_view key) {
        for (auto &field : m_fields) {
            if (field.key != key)
                continue;
            field.read = true;
            return field.value.is_null() ? nullptr : &field.value;
        }
        return nullptr;
    }

    template <class T> void integer(std::string_view key, T &value, std::int64_t low, std::int64_t high) {
        if (const auto *element = find(key))
            readInteger(key, *element, value, low, high);
        else
            m_mistake.set(key, "present");
    }

    template <class T>
    void integer(std::string_view key, std::optional<T> &value, std::int64_t low, std::int64_t high) {
        if (const auto *element = find(key))
            readInteger(key, *element, value.emplace(), low, high);
    }

    /// For rseq and seq, which use all 64 bits.
    void counter(std::string_view key, std::optional<std::uint64_t> &value) {
        if (const auto *element = find(key); element && element->get_uint64().get(value.emplace()))
            m_mistake.set(key, "a whole number from 0 on");
    }

    void real(std::string_view key, double &value) {
        if (const auto *element = find(key)) {
            if (!readReal(*element, value))
                m_mistake.set(key, "a number");
        } else {
            m_mistake.set(key, "present");
        }
    }

    void real(std::string_view key, std::optional<double> &value) {
        if (const auto *element = find(key); element && !readReal(*element, value.emplace()))
            m_mistake.set(key, "a number");
    }

    /// `named`: the key as the sentence should name it.
    template <class T> void duration(std::string_view key, T &value, std::string_view named = {}) {
        real(key, value);
        if (const std::optional<double> seconds = value; seconds && !isDuration(*seconds))
            m_mistake.set(named.empty() ? key : named, expectedDuration(*seconds));
    }

    template <class T> void finite(std::string_view key, T &value) {
        real(key, value);
        if (const std::optional<double> number = value; number && !isFiniteValue(*number))
            m_mistake.set(key, "a finite number, but is " + valueInWords(*number));
    }

    void share(std::string_view key, double &value) {
        real(key, value);
        if (!isShare(value))
            m_mistake.set(key, "from 0 to 1, but is " + valueInWords(value));
    }

    void truth(std::string_view key, bool &value) {
        if (const auto *element = find(key); element && element->get_bool().get(value))
            m_mistake.set(key, "true or false");
    }

    /// withoutTurns(), as what ranks say is drawn and exported.
    void text(std::string_view key, std::string &value, bool required = false) {
        const auto *element = find(key);
        if (element && element->is_string())
            value = withoutTurns(std::string(element->get_string().value_unsafe()));
        else if (element)
            m_mistake.set(key, "a text");
        else if (required)
            m_mistake.set(key, "present");
    }

    std::optional<ObjectReader> object(std::string_view key) {
        const auto *element = find(key);
        if (!element)
            return std::nullopt;
        if (!element->is_object()) {
            m_mistake.set(key, "an object");
            return std::nullopt;
        }
        return ObjectReader(element->get_object().value_unsafe(), m_mistake);
    }

    template <class Item> void array(std::string_view key, const Item &onItem, bool required = false) {
        const auto *element = find(key);
        if (!element) {
            if (required)
                m_mistake.set(key, "present");
            return;
        }
        if (!element->is_array())
            return m_mistake.set(key, "a list");
        const dom::array items = element->get_array().value_unsafe();
        for (const auto item : items)
            onItem(item);
    }

    template <class Item> void objects(std::string_view key, const Item &onObject, bool required = false) {
        array(
            key,
            [&](const dom::element &item) {
                if (!item.is_object())
                    return m_mistake.set(key, "a list of objects");
                ObjectReader reader(item.get_object().value_unsafe(), m_mistake);
                onObject(reader);
            },
            required);
    }

    template <class Use> void each(const Use &use) const {
        for (const auto &field : m_fields)
            use(field.key, field.value);
    }
    template <class Use> void eachUnread(const Use &use) const {
        for (const auto &field : m_fields)
            if (!field.read)
                use(field.key, field.value);
    }
    Mistake &mistake() { return m_mistake; }

private:
    template <class T>
    void readInteger(std::string_view key, const dom::element &element, T &value, std::int64_t low, std::int64_t high) {
        std::int64_t number = 0;
        if (element.get_int64().get(number) != simdjson::SUCCESS || number < low || number > high)
            return m_mistake.set(key,
                                 "a whole number from " + std::to_string(low) +
                                     (high < std::numeric_limits<std::int32_t>::max() ? " to " + std::to_string(high)
                                                                                      : std::string(" on")));
        value = static_cast<T>(number);
    }

    struct Field {
        std::string_view key;
        dom::element value;
        bool read;
    };
    std::vector<Field> m_fields;
    Mistake &m_mistake;
};

} // namespace lockstep::detail
