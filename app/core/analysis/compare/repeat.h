// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

namespace lockstep::core {

/// What one repeat measured. Repeats with the same round were made one soon after another; an empty round pairs with none.
struct Repeat {
    double value = 0;
    std::string round = {};
    /// When the repeat began, on a clock that all repeats compared share (seconds, or places in the order); absent: unknown.
    std::optional<double> moment = {};
    bool operator==(const Repeat &) const = default;
};

} // namespace lockstep::core
