// SPDX-License-Identifier: MIT
#pragma once
#include <set>
#include <string>

#include "analysis/compare/result_table.h"

namespace lockstep::cli {

/// The rows of a large result that a terminal shows: the reference, the fastest and the slowest, in the table's order.
struct ShownRows {
    std::set<std::string> names; ///< of measured rows
    int leftOut = 0;             ///< measured rows that are not shown
    [[nodiscard]] bool has(const std::string &name) const { return names.contains(name); }
};

/// All rows if `all`, or if they are few.
[[nodiscard]] ShownRows shownRows(const core::ResultTable &table, bool all);

/// "and 10 more: --all" with a newline; empty if all are shown.
[[nodiscard]] std::string moreLine(int leftOut);

/// Up to `most` names, separated by semicolons if one contains a comma: "A, B and C", "A, B, C and 4 more".
[[nodiscard]] std::string listed(const std::vector<std::string> &names, std::size_t most = 4);

} // namespace lockstep::cli
