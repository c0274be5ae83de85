// SPDX-License-Identifier: MIT
#pragma once
// How long training takes until a target is reached, across groups.
//
// The clock is training time: epoch durations, evaluation and start-up left out. Test accuracy is known at the end of each
// epoch; an epoch's training loss is the mean over the epoch and taken as its end's. Between two such ends k and k+1 with
// values v and w the target x is met, if x lies between them, at t(k) + (x - v) / (w - v) · d(k+1): linear interpolation,
// and said to be. Met at the end of epoch 1, it was met at some time before it: that end is given, as "by". The first time
// counts, even if the curve falls back later. Of a run that went on from a checkpoint the clock begins with the time
// that its summary gives for the epochs before; where that, or an epoch between, is unknown, so are all later times. The summary has the
// losses of those epochs, but no tests: met by the first test that is known, it may have been met before. A test after an
// epoch that not every rank has reported counts, without a time.
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/repeat_group.h"
#include "analysis/compare/statistics.h"

namespace lockstep::core {

struct Target {
    enum class Kind { Accuracy, Loss }; ///< accuracy 0..1, met from below; loss met from above
    Kind kind = Kind::Accuracy;
    double value = 0;
    bool operator==(const Target &) const = default;
};
[[nodiscard]] std::string toText(const Target &target); ///< "test accuracy 90.00 %", "training loss 0.500"
/// What a table's times and speed-ups are over the repeats: for who shows them side by side.
inline constexpr const char *targetFiguresText =
    "times are medians over the repeats, speed-ups are ratios of geometric means";

/// One repeat's way to the target.
struct TargetHit {
    std::optional<double> seconds;   ///< absent: not reached, or the time of an epoch until then is unknown
    std::optional<double> wattHours; ///< of its devices until then: their mean power over the run × seconds
    int after = 0;                   ///< the last epoch before with a value, from which it is interpolated; 0: none
    int epoch = 0;                   ///< the epoch by whose end it was met, from 1; 0: not reached
    std::optional<double> best;      ///< the best value there was
    bool perhapsBefore = false;      ///< met by the first known value after a checkpoint: those before it are unknown
    Repeat made = {};                ///< its round, moment, load and checkpoint; its value means nothing
    [[nodiscard]] bool isReached() const { return epoch > 0; }
    [[nodiscard]] bool isTimed() const { return seconds.has_value(); } ///< reached, after a time that is known
    bool operator==(const TargetHit &) const = default;
};

struct TimeToTarget {
    std::string group;
    std::vector<TargetHit> repeats; ///< of the repeats with values at all, oldest first
    int reached = 0;                ///< how many of them
    std::optional<double>
        seconds; ///< median, a repeat that did not get there counting as the last; absent: it lies there, or is unknown
    std::optional<double> fastest, slowest; ///< of those that got there after a known time
    std::optional<double> best;             ///< the best value of any repeat
    std::optional<double> wattHours;        ///< median; absent where a repeat did not get there or its power is unknown
    /// "interpolated between epochs 3 and 4", "by the end of epoch 1", "not reached: best 88.12 % in 10 epochs", …
    std::string how;
    std::optional<SpeedUp>
        speedUp; ///< reference's time ÷ this one's; only where all repeats of both got there after known times
    bool operator==(const TimeToTarget &) const = default;
};

[[nodiscard]] TargetHit hitOf(const RunOutcome &run, const Target &target);
/// In the order of the groups; speed-ups are measured from the one marked as reference: without it there are none.
[[nodiscard]] std::vector<TimeToTarget> timesToTarget(const std::vector<RepeatGroup> &groups, const Target &target);
/// A target that all groups reached: the worst of their best values, accuracy rounded down to a whole percent, loss up to two
/// digits. Absent: no group has such values.
[[nodiscard]] std::optional<Target> suggestedTarget(const std::vector<RepeatGroup> &groups, Target::Kind kind);
/// {"target": {…}, "cells": [{…}]}, keys with units; unknown is null.
[[nodiscard]] std::string toJson(const Target &target, const std::vector<TimeToTarget> &groups);

} // namespace lockstep::core
