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
    /// Of other programs, in cores' worth beyond those free of ranks, mean over the repeat; absent: unknown,
    /// or of runs that took turns on the same cores, which others slowed alike.
    std::optional<double> load = {};
    int number = 0; ///< among its run's repeats, from 1, as people call it
    /// What epochs before a checkpoint took of the value, seconds. Repeats in which it is equal went on from the same one, whose epochs
    /// were measured once. 0: the repeat measured all of the value itself.
    double earlierS = 0;
    bool operator==(const Repeat &) const = default;
};

} // namespace lockstep::core
