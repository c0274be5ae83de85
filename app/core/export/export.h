#pragma once
#include <string>
#include <vector>

#include "analysis/judgement.h"
#include "analysis/result_table.h"
#include "ipc/error.h"
#include "store/loss_series.h"

namespace lockstep::core {

enum class ExportFormat { Csv, Json, Markdown, Latex, Html };
[[nodiscard]] Result<ExportFormat> exportFormatFrom(std::string_view text); ///< csv, json, md, tex, html
[[nodiscard]] bool carriesCurves(ExportFormat format);                      ///< csv and json

/// The result table, with what was judged of it where `judgement` is given: its sentence, its reservations, a note at each
/// unfair row (in every format), and all of it in JSON under "judgement". CSV: RFC 4180, units in the heads, full precision, unknown empty; JSON: unknown null; Markdown:
/// "-"; LaTeX and HTML: report.h, the page without charts.
[[nodiscard]] std::string exportResults(const ResultTable &table, ExportFormat format,
                                        const Judgement *judgement = nullptr);

/// One loss curve.
struct ExportedCurve {
    std::string run, name, method;
    std::vector<LossPoint> points;
};
/// CSV `Wall time,Step,Value` (Unix seconds; `Run,Name,Wall time,Step,Value` unless there is exactly one), or JSON.
[[nodiscard]] Result<std::string> exportCurves(const std::vector<ExportedCurve> &curves, ExportFormat format);

/// Writes whole or not at all; an error names the file and the way out.
[[nodiscard]] Result<void> writeExport(const std::string &path, std::string_view text);
/// Whether files can be made there (the folder is made when missing); called before anything starts.
[[nodiscard]] Result<void> checkWritableFolder(const std::string &path);
/// results.csv, .json, .md, .tex and .html, curves.csv and .json.
[[nodiscard]] Result<void> writeAll(const std::string &folder, const ResultTable &table,
                                    const std::vector<ExportedCurve> &curves, const Judgement *judgement = nullptr);

/// One CSV field, quoted when needed.
[[nodiscard]] std::string csvField(std::string_view text);
/// Shortest text that reads back to the same double; no locale.
[[nodiscard]] std::string numberText(double value);

} // namespace lockstep::core
