// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include <QString>

#include "store/run_index.h"

namespace lockstep::core {
struct RunColumn;

/// What may be written at a place of a filter line, instead of the characters [from, from + length).
struct FilterCompletion {
    struct Choice {
        QString text; ///< "devices>=", "ddp"
        QString hint; ///< what it means, or how many runs have it
    };
    qsizetype from = 0, length = 0;
    std::vector<Choice> choices; ///< best first; empty: nothing to offer
};

/// Keys while a word is written, values behind an operator: those that may be, and those that `runs` have.
[[nodiscard]] FilterCompletion completeFilter(const QString &line, qsizetype cursor,
                                              const std::vector<IndexedRun> &runs);

/// Whether the line ends in a word that may yet become a column's name.
[[nodiscard]] bool beginsKey(const QString &line, std::span<const RunColumn> invented = {});

} // namespace lockstep::core
