// SPDX-License-Identifier: MIT
#pragma once
// Which runs are shown and in which order: filtered, sorted, repeats grouped. The same for the window and lockstepctl.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/history/run_columns.h"
#include "analysis/history/run_filter.h"

namespace lockstep::core {

/// A measured column over the done runs of a group.
struct GroupFigures {
    int count = 0; ///< done runs in which it is known; of those recorded from the same files one
    std::optional<double> mean;
    std::optional<double> deviation; ///< sample standard deviation (n - 1); absent of fewer than two
    std::optional<double> least, most;
};

/// Runs of the same work on the same machine.
struct RunGroup {
    std::string key;
    std::vector<int> runs; ///< places in the list, in its order
};

/// A line of the shown list: a group's head, or a run.
struct RunRow {
    int run = -1;   ///< place in the list; -1: the head of a group
    int group = -1; ///< place in RunRows::groups; -1: not grouped
    bool operator==(const RunRow &) const = default;
};

struct RunOrder {
    RunColumn column = runColumns().front();
    bool descending = false;
};

struct RunRows {
    std::vector<RunRow> rows;
    std::vector<RunGroup> groups;
    int matched = 0; ///< runs that the filter accepts
};

/// Equal for repeats of one run, unless they had unlike amounts of work: config without seed and files (or command, or
/// what its ranks reported), the recipe's name for it, host, and a script's folder.
[[nodiscard]] std::string groupKey(const IndexedRun &run);
[[nodiscard]] GroupFigures figuresOf(const RunColumn &column, const std::vector<IndexedRun> &runs,
                                     const std::vector<int> &which);
/// By which a group is sorted: the mean, its newest run's time, or the common value of its runs; nothing if there is none.
[[nodiscard]] ColumnValue groupValue(const RunColumn &column, const std::vector<IndexedRun> &runs,
                                     const std::vector<int> &which);
/// The text of a group's head: mean ± standard deviation, the common value of its runs, or "varies".
[[nodiscard]] QString groupText(const RunColumn &column, const std::vector<IndexedRun> &runs,
                                const std::vector<int> &which);
/// "12.0 to 25.3": of runs that are no repeats of each other; of those that are done, "-" where none knows it.
[[nodiscard]] QString rangeText(const RunColumn &column, const std::vector<IndexedRun> &runs,
                                const std::vector<int> &which);
/// "4 done, 1 failed"
[[nodiscard]] QString groupState(const std::vector<IndexedRun> &runs, const std::vector<int> &which);

/// Places of all runs, sorted; unknown stands last either way.
[[nodiscard]] std::vector<int> sortedRuns(const std::vector<IndexedRun> &runs, const RunOrder &order);
/// Every accepted run a row, in the order of `sorted`.
[[nodiscard]] RunRows flatRows(const std::vector<IndexedRun> &runs, const std::vector<int> &sorted,
                               const RunFilter &filter);
/// A head for each group, which is of one amount of work (work_amount.h), sorted by its mean (or common value), its
/// runs behind it when its key is in `open`.
[[nodiscard]] RunRows groupedRows(const std::vector<IndexedRun> &runs, const std::vector<int> &sorted,
                                  const RunFilter &filter, const RunOrder &order, const std::set<std::string> &open);

} // namespace lockstep::core
