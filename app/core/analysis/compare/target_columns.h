// SPDX-License-Identifier: MIT
#pragma once
// The columns of the time-to-target table: one table for the window, the reports and lockstepctl.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/compare/result_columns.h"
#include "analysis/compare/time_to_target.h"

namespace lockstep::core {

struct TargetColumn {
    std::string_view head;         ///< without its unit: "Time"
    std::string_view unit = {};    ///< "s", "×" or empty
    std::string_view terminalHead; ///< in lockstepctl; empty: not there
    bool words = false;            ///< a text: reports put these first
    bool inReport = true;
    bool namesTarget = false; ///< lockstepctl's head is the target itself
    /// As the window sorts it; absent when unknown, or in a column of words.
    std::function<std::optional<double>(const TimeToTarget &)> figure = {};
    std::function<std::string(const TimeToTarget &, Target::Kind, ResultPlace)> text;
};

/// In the order of the window and of lockstepctl.
[[nodiscard]] std::span<const TargetColumn> targetColumns();
[[nodiscard]] std::string shownHead(const TargetColumn &column, const Target &target, ResultPlace place);

} // namespace lockstep::core
