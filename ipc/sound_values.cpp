// SPDX-License-Identifier: MIT
#include "ipc/sound_values.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace lockstep {

bool isDuration(double seconds) {
    return seconds >= 0 && seconds <= longestDurationS; // false for NaN
}

bool isTimeOfWork(double seconds) {
    return isDuration(seconds) && seconds >= 1e-9;
}

bool canBeTrainingTime(double seconds, std::optional<double> runS) {
    return !runS || seconds <= *runS * 1.01 + 1;
}

bool isShare(double value) {
    return value >= 0 && value <= 1;
}

bool isFiniteValue(double value) {
    return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
}

std::optional<double> finiteOrUnknown(std::optional<double> value) {
    return value && isFiniteValue(*value) ? value : std::nullopt;
}

std::string valueInWords(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "infinite" : "minus infinite";
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string stepInWords(std::int64_t first, std::int64_t last) {
    return first == last ? "step " + std::to_string(first)
                         : "one of the steps " + std::to_string(first) + " to " + std::to_string(last);
}

std::string repeatedEpochInWords(int rank, int epoch) {
    return "rank " + std::to_string(rank) + " reported epoch " + std::to_string(epoch) +
           " more than once, as a script does that trains several times: how long it trained is unknown; number its "
           "epochs on, or make each training a run";
}

std::string expectedDuration(double found) {
    return (found > longestDurationS ? "a duration of at most 1e9 seconds" : "a duration in seconds, 0 or more") +
           (", but is " + valueInWords(found));
}

} // namespace lockstep
