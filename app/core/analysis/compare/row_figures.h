// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/result_table.h"

namespace lockstep::core {
struct PairJudgement;

/// What the config says of a row.
void takeConfig(const RunConfig &config, ResultRow &row);
/// Where only some keys of a script's config mean anything: the others as the script said of itself (null: nothing yet).
void takeKnown(const ScriptClaims &claims, const RunOutcome *run, ResultRow &row);
/// What a script said of itself; what it did not say stays unknown.
void takeAbout(const RunOutcome &outcome, ResultRow &row);
/// Of published figures: the first epoch and the median of the later ones, from row.epochs.
void takeEpochFigures(ResultRow &row);
/// Over the repeats that are done, geometric means of times and medians of the rest; of a run still going, what it has so far.
void takeOutcomes(const std::vector<const RunOutcome *> &all, ResultRow &row);
/// What the judgement says of a run beside its reference: intervals, and what accuracy and loss differ by. Of other work no factor
/// stays.
void takePair(const PairJudgement &pair, ResultRow &row);

[[nodiscard]] std::string rangeText(const std::optional<SpeedUp> &speedUp); ///< "1.70-1.78"; empty without an interval
/// "1.74 (1.70-1.78)", "1.74" without an interval, "-" without a factor.
[[nodiscard]] std::string withRange(std::optional<double> factor, const std::optional<SpeedUp> &speedUp);

/// A difference: "+0.0123", "−0.0123", "-" when unknown; of shares of 1 in points, "+0.30".
[[nodiscard]] std::string signedText(std::optional<double> difference);
[[nodiscard]] std::string pointsText(std::optional<double> difference);

/// What the classes are called, as many as any row has: by their names where all rows that know them have the same, else by their numbers.
[[nodiscard]] std::vector<std::string> classHeadings(const ResultTable &table);

} // namespace lockstep::core
