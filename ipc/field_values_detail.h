// SPDX-License-Identifier: MIT
#pragma once
// Only for run_config_fields.cpp. How a field's text is read and written: one class per kind of value. A row of the
// table points to its get and set.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ipc/run_config.h"
#include "ipc/thousands.h"

namespace lockstep::field {

/// A key as a template argument, so that a plain function pointer knows the key.
template <std::size_t N> struct Key {
    char text[N]{};
    constexpr Key(const char (&from)[N]) { std::copy_n(from, N, text); } // NOLINT(google-explicit-constructor)
    [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

inline tl::unexpected<Error> refuse(std::string_view key, std::string_view value, std::string expected) {
    std::string shown(value.substr(0, 60));
    for (char &c : shown)
        if (static_cast<unsigned char>(c) < 0x20)
            c = '?';
    return fail(
        Error::badArgument("\"" + shown + "\" is not allowed", "give " + std::move(expected), std::string(key)));
}

template <class T> bool parseWhole(std::string_view text, T &number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

template <Key K, auto Member, std::int64_t Low, std::int64_t High> struct Integer {
    static std::string get(const RunConfig &config) { return std::to_string(config.*Member); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        std::int64_t number = 0;
        if (!parseWhole(text, number) || number < Low || number > High)
            return refuse(K.view(), text, "a whole number from " + std::to_string(Low) + " to " + thousands(High));
        config.*Member = static_cast<std::remove_reference_t<decltype(config.*Member)>>(number);
        return {};
    }
};

enum class Range { Positive, NotNegative, ZeroToOne, ZeroToBelowOne };

inline bool holds(Range range, double number) {
    if (!std::isfinite(number))
        return false;
    switch (range) {
    case Range::Positive:
        return number > 0;
    case Range::NotNegative:
        return number >= 0;
    case Range::ZeroToOne:
        return number >= 0 && number <= 1;
    case Range::ZeroToBelowOne:
        return number >= 0 && number < 1;
    }
    return false;
}

inline std::string words(Range range) {
    switch (range) {
    case Range::Positive:
        return "a number above 0";
    case Range::NotNegative:
        return "a number from 0 on";
    case Range::ZeroToOne:
        return "a number from 0 to 1";
    case Range::ZeroToBelowOne:
        return "a number from 0 to below 1";
    }
    return "a number";
}

inline std::string realText(double number) {
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

template <Key K, auto Member, Range R> struct Real {
    static std::string get(const RunConfig &config) { return realText(config.*Member); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        double number = 0;
        if (!parseWhole(text, number) || !holds(R, number))
            return refuse(K.view(), text, words(R));
        config.*Member = number;
        return {};
    }
};

template <Key K, auto Member, Range R> struct OptionalReal {
    static std::string get(const RunConfig &config) {
        return config.*Member ? realText(*(config.*Member)) : std::string();
    }
    static Result<void> set(RunConfig &config, std::string_view text) {
        if (text.empty()) {
            config.*Member = std::nullopt;
            return {};
        }
        double number = 0;
        if (!parseWhole(text, number) || !holds(R, number))
            return refuse(K.view(), text, words(R) + ", or nothing");
        config.*Member = number;
        return {};
    }
};

template <Key K, auto Member> struct Switch {
    static std::string get(const RunConfig &config) { return config.*Member ? "true" : "false"; }
    static Result<void> set(RunConfig &config, std::string_view text) {
        const bool on = text == "true" || text == "1" || text == "on" || text == "yes";
        if (!on && text != "false" && text != "0" && text != "off" && text != "no")
            return refuse(K.view(), text, "true or false");
        config.*Member = on;
        return {};
    }
};

inline std::string joined(std::span<const std::string_view> choices) {
    std::string text;
    for (std::size_t i = 0; i < choices.size(); ++i)
        text += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + std::string(choices[i]);
    return text;
}

template <Key K, auto Member, const auto &Choices> struct Choice {
    static std::string get(const RunConfig &config) { return config.*Member; }
    static Result<void> set(RunConfig &config, std::string_view text) {
        if (std::find(Choices.begin(), Choices.end(), text) == Choices.end())
            return refuse(K.view(), text, joined(Choices));
        config.*Member = text;
        return {};
    }
};

/// Any text without control characters: paths, addresses, interface names.
template <Key K, auto Member> struct Text {
    static std::string get(const RunConfig &config) { return config.*Member; }
    static Result<void> set(RunConfig &config, std::string_view text) {
        if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
            return refuse(K.view(), text, "a text without control characters");
        config.*Member = text;
        return {};
    }
};

struct SeedField {
    static std::string get(const RunConfig &config) { return std::to_string(config.seed); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        std::uint64_t number = 0;
        if (!parseWhole(text, number))
            return refuse("seed", text, "a whole number from 0 to 18446744073709551615");
        config.seed = number;
        return {};
    }
};

inline bool isDeviceName(std::string_view text) {
    if (text.starts_with("GPU-") || text.starts_with("MIG-"))
        return text.size() > 4 && text.size() <= 128 && std::all_of(text.begin() + 4, text.end(), [](char c) {
                   return std::isxdigit(static_cast<unsigned char>(c)) || c == '-' || c == '/' ||
                          (c >= 'G' && c <= 'Z');
               });
    int index = 0;
    return parseWhole(text, index) && index >= 0 && text.front() != '-';
}

struct DevicesField {
    static std::string get(const RunConfig &config) {
        std::string text;
        for (const auto &device : config.devices)
            text += (text.empty() ? "" : ",") + device;
        return text;
    }
    static Result<void> set(RunConfig &config, std::string_view text) {
        if (const auto count = std::size_t(std::ranges::count(text, ',')) + 1; count > mostDevicesOfRun)
            return fail(Error::badArgument(std::to_string(count) + " are more than the " +
                                               std::to_string(mostDevicesOfRun) + " that a run can have",
                                           "name fewer", "devices"));
        std::vector<std::string> devices;
        for (std::size_t from = 0; from <= text.size();) {
            const std::size_t comma = std::min(text.find(',', from), text.size());
            std::string_view item = text.substr(from, comma - from);
            while (item.starts_with(' '))
                item.remove_prefix(1);
            while (item.ends_with(' '))
                item.remove_suffix(1);
            if (!isDeviceName(item))
                return refuse("devices", text, "device numbers or GPU UUIDs joined by commas, like 0,1");
            devices.emplace_back(item);
            from = comma + 1;
        }
        config.devices = std::move(devices);
        return {};
    }
};

struct NodesField {
    static std::string get(const RunConfig &config) { return toText(config.nodes); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        auto nodes = nodesFromText(text);
        if (!nodes) {
            nodes.error().where = "nodes";
            return fail(nodes.error());
        }
        config.nodes = std::move(*nodes);
        return {};
    }
};

} // namespace lockstep::field
