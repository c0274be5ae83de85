// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/result_table.h"
#include "analysis/compare/statistics.h"
#include "store/run_data.h"

namespace lockstep::core {

/// All done repeats of one setting: what comparisons are made of.
struct Cell {
    std::string name;             ///< as its row in the result table, "DDP ×2"
    std::vector<RunOutcome> runs; ///< done ones, oldest first
    bool reference = false;
    std::vector<std::string> command = {}; ///< a script's, with its placeholders, where a recipe told it
};

/// The cells of a table's measured rows, in its order; a row without a done run is left out.
[[nodiscard]] std::vector<Cell> cellsOf(const ResultTable &table, const std::vector<RunOutcome> &outcomes);

/// The cell of that name; null: there is none.
[[nodiscard]] const Cell *findCell(const std::vector<Cell> &cells, const std::string &name);

/// A figure of a run; absent where it isn't known.
using Figure = std::function<std::optional<double>(const RunOutcome &)>;
/// Of the repeats that know it, oldest first.
[[nodiscard]] std::vector<double> figuresOf(const Cell &cell, const Figure &figure);

/// The round of its experiment in which a run was made, as Repeat has it; empty for a run of no experiment.
[[nodiscard]] std::string roundOf(const RunOutcome &run);

/// What a run measured as one repeat of its cell, with its round and the moment at which it began.
[[nodiscard]] Repeat repeatOf(const RunOutcome &run, double value);

/// The median of its epochs after the first, which warms up; absent with one epoch.
[[nodiscard]] std::optional<double> laterEpochS(const RunOutcome &run);

/// A run that would settle something, and can be started as it stands.
struct SuggestedRun {
    std::string name; ///< "baseline, 4 workers"
    std::string why;  ///< one sentence: what it would show
    RunConfig config;
    std::vector<std::string> command = {}; ///< as PlannedRun's: a script with placeholders; empty: lockstep-trainer
    /// Runs to be made again in their place (a retry of their entries); empty: a further run. `experiment`: whose they are;
    /// empty: unknown, or of several. `alone`: with no run beside them.
    std::vector<std::string> again = {};
    std::string experiment = {};
    int rounds = 0; ///< whole rounds of the experiment, in place of a run; `config` means nothing then
    bool alone = false;
    bool operator==(const SuggestedRun &) const = default;
};

/// "baseline, 4 workers"; "repeat DDP ×2 (close other programs first)" of runs to be made again.
[[nodiscard]] std::string toText(const SuggestedRun &run);

} // namespace lockstep::core
