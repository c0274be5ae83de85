// SPDX-License-Identifier: MIT
#pragma once
// Only for files in ipc. One description of an object's keys serves both writing and reading. It is a template
//   template <class Keys, Is<Machine> M> void describe(Keys &keys, M &machine, const std::string &what)
// in this namespace, which passes each key to `keys` in the order of writing. `what` names the object in errors.
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ipc/document_reader_detail.h"
#include "ipc/printable.h"
#include "ipc/scalars.h"
#include "ipc/sound_values.h"

namespace lockstep::documents {

/// T is Of, or const Of when it is written.
template <class T, class Of>
concept Is = std::same_as<std::remove_const_t<T>, Of>;

class WritingKeys {
public:
    /// An unknown value writes no key.
    template <class T> WritingKeys &operator()(const char *key, const T &value) {
        m_writer.put(key, value);
        return *this;
    }
    /// Written only if it is not empty: a list that has items, a switch that is on.
    template <class T> WritingKeys &sparse(const char *key, const T &value) {
        if constexpr (std::same_as<T, bool>)
            return value ? (*this)(key, value) : *this;
        else
            return value.empty() ? *this : (*this)(key, value);
    }
    template <class T> WritingKeys &list(const char *key, const std::vector<T> &items, const std::string &what) {
        m_writer.list(key, items, [&](const T &item) { return written(item, what); });
        return *this;
    }
    template <class T> WritingKeys &object(const char *key, const std::optional<T> &value, const std::string &what) {
        return value ? required(key, *value, what) : *this;
    }
    template <class T> WritingKeys &required(const char *key, const T &value, const std::string &what) {
        return (*this)(key, written(value, what));
    }
    WritingKeys &config(const char *key, const std::optional<RunConfig> &config, const ScriptClaims &claims) {
        return config ? (*this)(key, fromConfig(*config, claims)) : *this;
    }
    WritingKeys &numbers(const char *key, const MetricValues &numbers) {
        Json json = Json::object();
        for (const auto &[name, number] : numbers)
            json[name] = real(number);
        return (*this)(key, json);
    }
    WritingKeys &sparseNumbers(const char *key, const MetricValues &values) {
        return values.empty() ? *this : numbers(key, values);
    }

    template <class T> [[nodiscard]] static Json written(const T &value, const std::string &what = {}) {
        WritingKeys keys;
        describe(keys, value, what);
        return keys.m_writer.take();
    }

private:
    DocumentWriter m_writer;
};

/// How many items the lists of each name had so far.
using ItemCounts = std::map<std::string_view, std::size_t>;

class ReadingKeys {
public:
    /// `unknown`: what to do about unknown keys of configurations. `counts` are those of the whole document.
    ReadingKeys(DocumentReader &reader, UnknownKeys unknown, ItemCounts &counts)
        : m_reader(reader), m_unknown(unknown), m_counts(counts) {}

    template <class T> ReadingKeys &operator()(const char *key, T &value) {
        m_reader.get(key, value);
        return *this;
    }
    template <class T> ReadingKeys &sparse(const char *key, T &value) { return (*this)(key, value); }
    template <class T> ReadingKeys &list(const char *key, std::vector<T> &items, const std::string &what) {
        m_reader.each(key, [&](const Json &item) {
            if (++m_counts[key] > mostItems(key))
                return m_reader.tooMany(key);
            read(item, items.emplace_back(), what);
        });
        return *this;
    }
    template <class T> ReadingKeys &object(const char *key, std::optional<T> &value, const std::string &what) {
        if (const Json *found = m_reader.object(key))
            read(*found, value.emplace(), what);
        return *this;
    }
    template <class T> ReadingKeys &required(const char *key, T &value, const std::string &what) {
        if (const Json *found = m_reader.object(key))
            read(*found, value, what);
        else
            m_reader.mistake(key, "present");
        return *this;
    }
    ReadingKeys &config(const char *key, std::optional<RunConfig> &config, const ScriptClaims & /*claims*/) {
        if (const Json *found = m_reader.object(key)) {
            auto read = toConfig(*found, m_unknown);
            if (read)
                config = std::move(*read);
            else
                m_reader.adopt(read.error().front());
        }
        return *this;
    }
    ReadingKeys &numbers(const char *key, MetricValues &numbers) {
        m_reader.eachKey(key, [&](const std::string &name, const Json &value) {
            const auto number = DocumentReader::realOf(value);
            if (!number)
                return m_reader.mistake(key, "an object of numbers");
            if (DocumentReader::isUnsoundDuration(key, *number))
                return m_reader.mistake(std::string(key) + "." + name, expectedDuration(*number));
            numbers[withoutTurns(name)] = *number;
        });
        return *this;
    }
    ReadingKeys &sparseNumbers(const char *key, MetricValues &values) { return numbers(key, values); }
    [[nodiscard]] DocumentReader &reader() { return m_reader; }

private:
    template <class T> void read(const Json &json, T &value, const std::string &what) {
        DocumentReader inner(json, what);
        ReadingKeys keys(inner, m_unknown, m_counts);
        describe(keys, value, what);
        if (inner.error())
            m_reader.adopt(*inner.error());
    }
    DocumentReader &m_reader;
    UnknownKeys m_unknown;
    ItemCounts &m_counts;
};

/// Reads a whole object from JSON; the error is the first mistake.
template <class T> Result<T> toObject(const Json &json, const std::string &what, UnknownKeys unknown) {
    DocumentReader reader(json, what);
    ItemCounts counts;
    ReadingKeys keys(reader, unknown, counts);
    T value;
    describe(keys, value, what);
    return reader.finish(std::move(value));
}

/// The same from the text of a document of at most `most` values.
template <class T>
Result<T> readDocument(std::string_view text, const std::string &what, std::size_t most,
                       UnknownKeys unknown = UnknownKeys::Ignore) {
    const auto object = parseObject(text, what, most);
    return object ? toObject<T>(*object, what, unknown) : Result<T>(fail(object.error()));
}

} // namespace lockstep::documents
