// SPDX-License-Identifier: MIT
#pragma once
// The known facts of a run as columns: one list for the table, the column chooser, the filter, sorting, grouping
// and lockstepctl.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <QString>

#include "store/run_index.h"

namespace lockstep::core {

enum class ColumnKind {
    Text,
    Words,    ///< several words, "a, b"
    Number,   ///< without a unit
    Duration, ///< seconds
    Share,    ///< 0..1, shown in %
    Cores,    ///< cores' worth of processor time
    Bytes,
    Time, ///< Unix microseconds
    Flag  ///< 0 or 1
};

/// Nothing (unknown), a text, or a number in the kind's unit.
using ColumnValue = std::variant<std::monostate, std::string, double>;

struct RunColumn {
    std::string key;  ///< in filters and on the command line: "training"
    std::string head; ///< with its unit: "Training time (s)"
    std::string help; ///< one sentence
    ColumnKind kind = ColumnKind::Text;
    std::function<ColumnValue(const IndexedRun &)> value;
    /// What a filter takes for the value, too: a repeat's name without its number. Empty function: nothing.
    std::function<ColumnValue(const IndexedRun &)> otherValue;
    std::vector<std::string> choices; ///< all that a text may be, unless `open`; empty: anything
    bool open = false;                ///< other texts may be there than the choices
    std::string also;                 ///< another spelling of the key
    bool measured = false;            ///< an outcome: groups show mean ± standard deviation
    bool hundredths = false;          ///< of a per cent are told apart: an accuracy; other shares have three digits
    bool shown = false;               ///< until a person chooses
    bool setting = false;             ///< a field of the config
};

/// The columns of every run, with the registered metrics (ipc/metrics.h).
[[nodiscard]] std::span<const RunColumn> runColumns();
/// One for each further metric that the runs know, in the order of their names; at most 64.
[[nodiscard]] std::vector<RunColumn> inventedColumns(const std::vector<IndexedRun> &runs);
/// Of both; null: none.
[[nodiscard]] const RunColumn *findRunColumn(std::string_view key, std::span<const RunColumn> invented);
/// Index in runColumns(), by key or other spelling, ignoring case; -1: none.
[[nodiscard]] int runColumnAt(std::string_view key);
/// The index of a column that must exist.
[[nodiscard]] int runColumn(std::string_view key);
/// "there is no column "metod"; did you mean method?"
[[nodiscard]] Error unknownColumn(const std::string &key, std::span<const RunColumn> invented = {});
/// Columns by name, "name,accuracy"; every one must exist.
[[nodiscard]] Result<std::vector<RunColumn>> runColumnsFrom(std::string_view list,
                                                            std::span<const RunColumn> invented = {});

[[nodiscard]] bool isNumeric(ColumnKind kind);
/// The text of a cell; the head has the unit. Unknown is "-".
[[nodiscard]] QString shownValue(const RunColumn &column, const ColumnValue &value);
/// Orders values of one column; unknown comes last.
[[nodiscard]] bool valueBefore(const ColumnValue &a, const ColumnValue &b);

} // namespace lockstep::core
