// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include <QString>

#include "store/run_index.h"

namespace lockstep::core {
struct RunColumn;

/// Completions at a position of a filter line, replacing the characters [from, from + length).
struct FilterCompletion {
    struct Choice {
        QString text; ///< "devices>=", "ddp"
        QString hint; ///< what it means, or how many runs have it
    };
    qsizetype from = 0, length = 0;
    std::vector<Choice> choices; ///< best first; empty: nothing to offer
};

/// Keys while a word is typed, values after an operator: the possible ones, and those that `runs` have.
[[nodiscard]] FilterCompletion completeFilter(const QString &line, qsizetype cursor,
                                              const std::vector<IndexedRun> &runs);

/// Whether the line ends in a word that may yet become a column's name.
[[nodiscard]] bool beginsKey(const QString &line, std::span<const RunColumn> invented = {});

} // namespace lockstep::core
