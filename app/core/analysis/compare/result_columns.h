// SPDX-License-Identifier: MIT
#pragma once
// The columns of the result table: one table for the window, every export and lockstepctl.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/compare/result_table.h"

namespace lockstep::core {

/// Nothing (unknown), a count, a number in the column's unit, or a text.
using ResultValue = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Report tables, from the narrowest to the widest; a wider one has the columns of the narrower ones too.
enum class TextColumns {
    Paper,   ///< what fits a column of print: the figures that are compared
    Reading, ///< what fits a page
    All,
    Data ///< CSV and JSON alone: in tables for people it stands in another column's words
};

/// How people read a value.
enum class ResultFormat {
    Text,
    Remarks,    ///< a text that may be empty without being unknown
    Count,      ///< a whole number
    Number,     ///< three significant digits
    Factor,     ///< likewise, with its interval beside it
    Share,      ///< 0..1, read in %
    Points,     ///< a signed difference of shares, in points
    Difference, ///< a signed difference
    Repeats,    ///< those done; the window and lockstepctl add how many were asked for, reports where those are others
    Nodes       ///< how many; the window names them
};

/// Where a value is shown. The window has units in its heads, reports have "%" in the cell, lockstepctl "×" too.
enum class ResultPlace { Window, Report, Terminal };

struct ResultColumn {
    std::string_view key;       ///< CSV head and JSON key, with its unit: "epoch_median_s"
    std::string_view head;      ///< without its unit: "Epoch"
    std::string_view unit = {}; ///< "s", "×", "%", "points" or empty
    std::string_view help = {}; ///< the head's tooltip
    ResultFormat format = ResultFormat::Text;
    std::function<ResultValue(const ResultRow &)> value;
    TextColumns least = TextColumns::Paper; ///< the narrowest report table that has it; data has every column
    bool inWindow = false;
    std::string_view measuredHead = {};  ///< in lockstepctl's table of what was measured; empty: not there
    std::string_view publishedHead = {}; ///< in its table of published figures; empty: not there
    int decimals = 0;                    ///< of a share, in the window and in reports
    int terminalDecimals = 0;            ///< of a share, in lockstepctl's tables
    std::optional<SpeedUp> ResultRow::*interval = nullptr; ///< of a factor
};

/// In the order in which every output has them.
[[nodiscard]] std::span<const ResultColumn> resultColumns();
/// The head for the window or a report, with the unit in brackets unless the cells contain it.
[[nodiscard]] std::string shownHead(const ResultColumn &column, ResultPlace place);
/// The value as people read it there; "-" when unknown.
[[nodiscard]] std::string shownText(const ResultColumn &column, const ResultRow &row, ResultPlace place);

/// "a; b"
[[nodiscard]] std::string joinedText(const std::vector<std::string> &texts, std::string_view between = "; ");

} // namespace lockstep::core
