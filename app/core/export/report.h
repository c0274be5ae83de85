// SPDX-License-Identifier: MIT
#pragma once
// The results as a document: LaTeX, HTML, and the parts of the printed page.
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/judgement.h"
#include "analysis/compare/result_columns.h"
#include "analysis/compare/result_table.h"
#include "export/export.h"

namespace lockstep::core {

/// The result table as text: "-" for unknown.
struct TextTable {
    std::vector<std::string> heads;
    std::vector<bool> numbers; ///< by column: figures are right-aligned
    std::vector<std::vector<std::string>> rows;
};
/// Paper and Reading leave out columns without any value, and mark published rows in the name.
[[nodiscard]] TextTable textTable(const ResultTable &table, TextColumns which);
/// The verdict's lines, a row each: run, outcome, speed-up with its interval, why. No rows if nothing can be compared.
[[nodiscard]] TextTable verdictTable(const Judgement &judgement);
/// One row per run that has metrics, one column per metric; no rows without any.
[[nodiscard]] TextTable metricsTable(const ResultTable &table);
/// The judgement's reservations, the rows' own notes, "DP on 8 devices: not run: needs 8, has 2", then the table's.
[[nodiscard]] std::vector<std::string> noteLines(const ResultTable &table);

/// A part of the verdict as text, in every document: a table, or lines.
struct ReportSection {
    std::string key;   ///< causes, settings, missing-controls, fairness, bounds, target, metrics
    std::string title; ///< "Is the comparison fair?"
    std::string said;  ///< one sentence that explains the figures; may be empty
    TextTable table = {};
    std::vector<std::string> lines = {};
};
/// The sections that are not empty, in this order: the waterfalls' figures, each setting's own effect, missing controls,
/// what is unfair (heaviest first), what bounds each run, time to target, metrics.
[[nodiscard]] std::vector<ReportSection> reportSections(const Report &report);

/// For booktabs, to be \input into a document: a `table` environment whose caption is the verdict, then the sections, their
/// tables likewise and their lines as lists.
[[nodiscard]] std::string latexReport(const Report &report);
/// One word or sentence for LaTeX: escapes everything that TeX would read as a command or ligature; control characters
/// become blanks.
[[nodiscard]] std::string latexText(std::string_view text);

/// A further chart for the page, besides those drawn from the report itself; on a light background.
struct ReportPicture {
    std::string title;
    std::string svg; ///< a whole SVG document
};
/// One self-contained page: verdict with its lines, table, charts inline, sections, notes, all columns. It loads nothing from elsewhere and follows the reader's light or dark colours.
[[nodiscard]] std::string htmlReport(const Report &report, const std::vector<ReportPicture> &pictures);
[[nodiscard]] std::string htmlText(std::string_view text); ///< escaped, for text and attributes
[[nodiscard]] std::string htmlTable(const TextTable &table);

} // namespace lockstep::core
