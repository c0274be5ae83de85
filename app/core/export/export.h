// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/dp_anatomy.h"
#include "analysis/compare/judgement.h"
#include "analysis/compare/result_table.h"
#include "analysis/compare/time_to_target.h"
#include "ipc/error.h"
#include "store/loss_series.h"

namespace lockstep::core {
class RunStore;

enum class ExportFormat { Csv, Json, Markdown, Latex, Html };
struct Report;

/// One file format of results.
struct ExportFormatSpec {
    ExportFormat format;
    std::string_view suffix; ///< "csv": its name in flags, and its files' suffix
    std::string_view title;  ///< "Table (CSV)"
    bool carriesCurves;      ///< exportCurves() writes it too
    std::string (*write)(const Report &);
};
/// One row per format; used by lockstepctl, the window's menu and --export.
[[nodiscard]] std::span<const ExportFormatSpec> resultFormats();
/// "csv, json, md, tex or html", followed by further names.
[[nodiscard]] std::string resultFormatNames(std::vector<std::string> more = {});
[[nodiscard]] Result<ExportFormat> exportFormatFrom(std::string_view suffix);
[[nodiscard]] bool carriesCurves(ExportFormat format);

/// One run's loss curve, and those of its metrics.
struct ExportedCurve {
    std::string run, name, method;
    std::vector<LossPoint> points;
    std::vector<std::pair<std::string, std::vector<LossPoint>>> metrics = {}; ///< by name
};
[[nodiscard]] ExportedCurve exportedCurve(const RunStore &store);
/// What an export contains.
struct Report {
    ResultTable table;                       ///< judged (judgement.h): every format then says what is unfair
    Judgement judgement;                     ///< empty: nothing was judged
    std::vector<ExportedCurve> curves = {};  ///< for the charts of the HTML page; may be empty
    std::vector<StepAnatomy> anatomies = {}; ///< likewise: DP's step beside DDP's
    std::optional<Target> target = {};       ///< what `times` are measured to
    std::vector<TimeToTarget> times = {};
};
/// Judges the table and makes a report; the target is one that all runs reached.
[[nodiscard]] Report reportOf(const ResultTable &table, const std::vector<RunOutcome> &outcomes,
                              const std::vector<std::string> &varies, std::vector<ExportedCurve> curves = {});

/// CSV: RFC 4180, units in the heads, full precision, unknown empty, the table alone; JSON: unknown null, the verdict
/// under "judgement"; Markdown: "-", the table and the sections; LaTeX and HTML likewise: report.h.
[[nodiscard]] std::string exportResults(const Report &report, ExportFormat format);

/// CSV `Wall time,Step,Value` (Unix seconds; `Run,Name,Wall time,Step,Value` unless there is exactly one) of the loss, or JSON
/// of loss and metrics.
[[nodiscard]] Result<std::string> exportCurves(const std::vector<ExportedCurve> &curves, ExportFormat format);
/// What exportCurves() leaves out in that format, as a sentence; empty: nothing.
[[nodiscard]] std::string leftOutOfCurves(const std::vector<ExportedCurve> &curves, ExportFormat format);

/// Writes the whole file or nothing; an error names the file and what to do.
[[nodiscard]] Result<void> writeExport(const std::string &path, std::string_view text);
/// Whether files can be written there (a missing folder is made); call it before anything starts.
[[nodiscard]] Result<void> checkWritableFolder(const std::string &path);
/// results.csv, .json, .md, .tex and .html, curves.csv and .json.
[[nodiscard]] Result<void> writeAll(const std::string &folder, const Report &report);

/// Shortest text that reads back to the same double, no locale; empty for one that is not finite.
[[nodiscard]] std::string numberText(double value);

} // namespace lockstep::core
