// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace lockstep::core {
class RunStore;
struct ResultTable;

/// Which of some repeats of one run speaks for all where only one can be drawn: of those that are done, the one with the median
/// training time (of two in the middle, the shorter). While none is done, the newest that has steps, else the newest. Null
/// without repeats.
[[nodiscard]] const RunStore *medianRepeat(const std::vector<const RunStore *> &repeats);

/// The median repeat of a row of the result table.
struct RowRepeat {
    std::string name; ///< the row's, which may say more than the runs' own
    const RunStore *run = nullptr;
    int repeat = 1, repeats = 1; ///< which of how many
};
/// One of each row that has any of these runs, in the table's order. A run that counts in no row is left out.
[[nodiscard]] std::vector<RowRepeat> medianRepeats(const ResultTable &table, const std::vector<const RunStore *> &runs);

} // namespace lockstep::core
