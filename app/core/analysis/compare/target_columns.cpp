// SPDX-License-Identifier: MIT
#include "analysis/compare/target_columns.h"

#include <vector>

#include "analysis/compare/row_figures.h"
#include "base/format.h"

namespace lockstep::core {
namespace {

std::string reachedText(const TimeToTarget &row, Target::Kind, ResultPlace) {
    return row.repeats.empty() ? "-" : std::to_string(row.reached) + " of " + std::to_string(row.repeats.size());
}

std::optional<double> factorOf(const TimeToTarget &row) {
    return row.speedUp ? std::optional(row.speedUp->factor) : std::nullopt;
}

/// As the speed-ups of the results: in the window and in reports the head has the "×"; lockstepctl has "1.74× (1.70× to 1.78×)".
std::string speedUpText(const TimeToTarget &row, Target::Kind, ResultPlace place) {
    if (place != ResultPlace::Terminal)
        return withRange(factorOf(row), row.speedUp);
    QString text = speedUp(factorOf(row));
    if (row.speedUp && row.speedUp->hasInterval())
        text += QStringLiteral(" (%1 to %2)").arg(speedUp(row.speedUp->low), speedUp(row.speedUp->high));
    return text.toStdString();
}

std::string bestText(const TimeToTarget &row, Target::Kind kind, ResultPlace) {
    return (kind == Target::Kind::Accuracy ? percent(row.best) : significant(row.best)).toStdString();
}

TargetColumn targetWords(std::string_view head, std::string_view terminalHead, std::string TimeToTarget::*member) {
    return {.head = head,
            .terminalHead = terminalHead,
            .words = true,
            .text = [member](const TimeToTarget &row, Target::Kind, ResultPlace) { return row.*member; }};
}

TargetColumn targetSeconds(std::string_view head, std::string_view terminalHead,
                           std::optional<double> TimeToTarget::*member) {
    return {.head = head,
            .unit = "s",
            .terminalHead = terminalHead,
            .figure = [member](const TimeToTarget &row) { return row.*member; },
            .text = [member](const TimeToTarget &row, Target::Kind,
                             ResultPlace) { return significant(row.*member).toStdString(); }};
}

} // namespace

std::span<const TargetColumn> targetColumns() {
    static const std::vector<TargetColumn> columns = [] {
        TargetColumn run = targetWords("Run", "to", &TimeToTarget::group);
        run.namesTarget = true;
        return std::vector<TargetColumn>{
            std::move(run),
            targetSeconds("Time", "s", &TimeToTarget::seconds),
            targetSeconds("Fastest", "fastest", &TimeToTarget::fastest),
            targetSeconds("Slowest", "slowest", &TimeToTarget::slowest),
            {.head = "Reached", .terminalHead = "reached", .text = reachedText},
            {.head = "Speed-up", .unit = "×", .terminalHead = "speed-up", .figure = factorOf, .text = speedUpText},
            {.head = "Best",
             .terminalHead = {},
             .inReport = false,
             .figure = [](const TimeToTarget &row) { return row.best; },
             .text = bestText},
            {.head = "Energy",
             .unit = "Wh",
             .terminalHead = "Wh",
             .figure = [](const TimeToTarget &row) { return row.wattHours; },
             .text = [](const TimeToTarget &row, Target::Kind,
                        ResultPlace) { return significant(row.wattHours).toStdString(); }},
            targetWords("How it is known", "how it is known", &TimeToTarget::how)};
    }();
    return columns;
}

std::string shownHead(const TargetColumn &column, const Target &target, ResultPlace place) {
    if (place == ResultPlace::Terminal)
        return std::string(column.terminalHead) + (column.namesTarget ? " " + toText(target) : "");
    const bool inCells = place == ResultPlace::Report && column.unit == "×";
    return std::string(column.head) + (column.unit.empty() || inCells ? "" : " (" + std::string(column.unit) + ")");
}

} // namespace lockstep::core
