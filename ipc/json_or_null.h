// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace lockstep {

/// In JSON documents an unknown value is null.
template <class T> [[nodiscard]] nlohmann::ordered_json orNull(const std::optional<T> &value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}
[[nodiscard]] inline nlohmann::ordered_json orNull(const std::string &value) {
    return value.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

} // namespace lockstep
