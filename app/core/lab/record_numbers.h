// SPDX-License-Identifier: MIT
#pragma once
// Numbers of a lab's or a forecast's record, which may come from elsewhere: one that is no measurement makes the whole record
// unreadable. These throw std::invalid_argument, and what the JSON library throws where a key is missing or of another type.
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "ipc/sound_values.h"

namespace lockstep::core {

inline void require(bool sound, const std::string &what, const nlohmann::ordered_json &found) {
    if (!sound)
        throw std::invalid_argument(what + " " + found.dump());
}

/// Seconds.
[[nodiscard]] inline double durationFrom(const nlohmann::ordered_json &json, const char *key) {
    const double seconds = json.at(key).get<double>();
    require(isDuration(seconds), std::string(key) + " must be " + expectedDuration(seconds) + ":", json.at(key));
    return seconds;
}
/// 0 where a record of an older version has none.
[[nodiscard]] inline double durationOr0(const nlohmann::ordered_json &json, const char *key) {
    return json.contains(key) ? durationFrom(json, key) : 0;
}

} // namespace lockstep::core
