// SPDX-License-Identifier: MIT
#pragma once
// The results as a page for people: LaTeX for a paper, HTML for everybody, and what a printed page is made of.
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/judgement.h"
#include "analysis/compare/result_columns.h"
#include "analysis/compare/result_table.h"
#include "export/export.h"

namespace lockstep::core {

/// The result table in words: every cell as people read it, "-" for unknown.
struct TextTable {
    std::vector<std::string> heads;
    std::vector<bool> numbers; ///< by column: figures are right-aligned
    std::vector<std::vector<std::string>> rows;
};
/// Paper and Reading leave out what no row knows, and say in its name that a row is published.
[[nodiscard]] TextTable textTable(const ResultTable &table, TextColumns which);
/// The verdict's lines, a row each: run, outcome, speed-up with its interval, why. No rows while nothing can be compared.
[[nodiscard]] TextTable verdictTable(const Judgement &judgement);
/// A row for each run that knows a metric, a column a metric; no rows without one.
[[nodiscard]] TextTable metricsTable(const ResultTable &table);
/// The judgement's reservations, what the rows' own notes say, "DP on 8 devices: not run: needs 8, has 2", then the table's.
[[nodiscard]] std::vector<std::string> noteLines(const ResultTable &table);

/// A part of the verdict in words, on every page for people: a table, or a line each.
struct ReportSection {
    std::string key;   ///< causes, settings, missing-controls, fairness, bounds, target, metrics
    std::string title; ///< "Is the comparison fair?"
    std::string said;  ///< what the figures are, a sentence; may be empty
    TextTable table = {};
    std::vector<std::string> lines = {};
};
/// In this order, those that have something to say: the waterfalls' figures, what each setting does by itself, controls that are
/// missing, what is unfair (heaviest first), what bounds each run, time to target, metrics.
[[nodiscard]] std::vector<ReportSection> reportSections(const Report &report);

/// For booktabs, to be \input into a document: a `table` environment whose caption is the verdict, then the sections, their
/// tables likewise and their lines as lists.
[[nodiscard]] std::string latexReport(const Report &report);
/// One word or sentence for LaTeX: everything that TeX would read as a command or ligature is escaped; control characters
/// become blanks.
[[nodiscard]] std::string latexText(std::string_view text);

/// A chart inside a page, besides those that are drawn from the report itself; on a light ground.
struct ReportPicture {
    std::string title;
    std::string svg; ///< a whole SVG document
};
/// One self-contained page: verdict with its lines, table, charts inline, sections, notes, all columns. It loads nothing from anywhere and follows the reader's light or dark colours.
[[nodiscard]] std::string htmlReport(const Report &report, const std::vector<ReportPicture> &pictures);
[[nodiscard]] std::string htmlText(std::string_view text); ///< escaped, for text and attributes
[[nodiscard]] std::string htmlTable(const TextTable &table);

} // namespace lockstep::core
