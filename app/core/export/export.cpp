// SPDX-License-Identifier: MIT
#include "export/export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <unistd.h>

#include "analysis/compare/result_columns.h"
#include "analysis/compare/row_figures.h"
#include "analysis/compare/verdict.h"
#include "base/markdown_text.h"
#include "base/whole_file.h"
#include "export/cell_text.h"
#include "export/report.h"
#include "export/staged_files.h"
#include "ipc/file_system.h"
#include "ipc/json_or_null.h"
#include "ipc/sound_values.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json &json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string csvText(const ResultValue &value) {
    if (const auto *number = std::get_if<double>(&value))
        return numberText(*number);
    if (const auto *count = std::get_if<std::int64_t>(&value))
        return std::to_string(*count);
    const auto *text = std::get_if<std::string>(&value);
    return text ? csvField(*text) : std::string();
}

Json jsonOf(const ResultValue &value) {
    if (const auto *number = std::get_if<double>(&value))
        return *number;
    if (const auto *count = std::get_if<std::int64_t>(&value))
        return *count;
    const auto *text = std::get_if<std::string>(&value);
    return text ? Json(*text) : Json(nullptr);
}

/// The head of a metric's column: its name, unless another column has it.
std::string metricKey(const std::string &name) {
    const bool taken = name.starts_with("accuracy_class_") ||
                       std::ranges::any_of(resultColumns(), [&](const auto &column) { return name == column.key; });
    return taken ? "metric_" + name : name;
}

std::string resultsCsv(const ResultTable &table) {
    std::string out;
    const std::vector<std::string> classes = classHeadings(table);
    for (const ResultColumn &column : resultColumns())
        out += (out.empty() ? "" : ",") + csvField(column.key);
    for (const std::string &name : classes)
        out += "," + csvField("accuracy_class_" + name);
    const std::vector<std::string> metrics = metricNames(table);
    for (const std::string &name : metrics)
        out += "," + csvField(metricKey(name));
    out += "\r\n";
    for (const ResultRow &row : table.rows) {
        std::string line;
        for (const ResultColumn &column : resultColumns())
            line += (&column == resultColumns().data() ? "" : ",") + csvText(column.value(row));
        for (std::size_t i = 0; i < classes.size(); ++i)
            line += "," + (i < row.perClassAccuracy.size() ? numberText(row.perClassAccuracy[i]) : std::string());
        for (const std::string &name : metrics)
            line += "," + (row.metrics.contains(name) ? numberText(row.metrics.find(name)->second) : std::string());
        out += line + "\r\n";
    }
    return out;
}

Json finite(std::optional<double> value) {
    return orNull(finiteOrUnknown(value));
}

Json finite(const std::vector<double> &values) {
    Json json = Json::array();
    for (const double value : values)
        json.push_back(finite(value));
    return json;
}

/// Appends: Json's own ways to add a key look at all earlier ones.
template <class Numbers> Json numbersByName(const Numbers &numbers) {
    Json::object_t object;
    for (const auto &[name, number] : numbers)
        object.emplace_back(name, finite(number));
    return object;
}

Json rowJson(const ResultRow &row) {
    Json json = Json::object();
    for (const ResultColumn &column : resultColumns())
        json[std::string(column.key)] = jsonOf(column.value(row));
    json["notes"] = row.notes;
    json["hosts"] = row.hosts;
    json["published"] = row.published;
    json["reference"] = row.reference;
    json["model"] = orNull(row.model);
    json["dataset"] = orNull(row.dataset);
    json["augment"] = orNull(row.augment);
    json["runs"] = row.runs;
    json["per_class_accuracy"] = finite(row.perClassAccuracy);
    if (!row.classNames.empty())
        json["class_names"] = row.classNames;
    json["epochs"] = Json::array();
    for (const MergedEpoch &epoch : row.epochs) {
        Json one = {{"epoch", epoch.epoch}, {"duration_s", epoch.durationS}};
        one["loss"] = finite(epoch.loss);
        one["test_accuracy"] = epoch.eval && !row.published ? Json(epoch.eval->accuracy) : Json(nullptr);
        if (epoch.part)
            one["part"] = true;
        if (epoch.readyBatches)
            one["ready_batches"] = *epoch.readyBatches;
        if (!epoch.metrics.empty())
            one["metrics"] = numbersByName(epoch.metrics);
        json["epochs"].push_back(std::move(one));
    }
    json["devices_use"] = Json::array();
    for (const DeviceUse &use : row.devicesUse)
        json["devices_use"].push_back({{"device", use.device},
                                       {"utilization_mean", orNull(use.utilizationMean)},
                                       {"utilization_max", orNull(use.utilizationMax)},
                                       {"memory_mean_bytes", orNull(use.memoryMeanBytes)},
                                       {"memory_max_bytes", orNull(use.memoryMaxBytes)}});
    json["phases_s"] = numbersByName(row.phasesS);
    json["metrics"] = numbersByName(row.metrics);
    return json;
}

Json pointsJson(const std::vector<LossPoint> &points, const std::string &value) {
    Json json = Json::array();
    for (const LossPoint &point : points)
        json.push_back({{"wall_time_s", double(point.wallUs) * 1e-6},
                        {"step", point.step},
                        {"epoch", point.epoch},
                        {value, finite(point.loss)},
                        {value + "_min", finite(point.min)},
                        {value + "_max", finite(point.max)}});
    return json;
}

std::string resultsJson(const ResultTable &table, const Judgement &judgement) {
    Json json = {{"title", table.title}, {"data", table.datasetNote}, {"reference", orNull(table.reference)}};
    json["rows"] = Json::array();
    for (const ResultRow &row : table.rows)
        json["rows"].push_back(rowJson(row));
    const VerdictText verdict = verdictText(table);
    json["verdict"] = orNull(verdict.sentence);
    json["spread"] = orNull(verdict.spread);
    json["reservations"] = table.reservations;
    json["notes"] = table.notes;
    json["judgement"] = judgement.bottlenecks.empty() ? Json() : Json::parse(toJson(judgement));
    return dump(json, 2) + "\n";
}

std::string markdownTable(const TextTable &table) {
    std::string out = "|", rule = "|";
    for (const std::string &head : table.heads) {
        out += " " + markdownText(head) + " |";
        rule += " --- |";
    }
    out += "\n" + rule + "\n";
    for (const auto &row : table.rows) {
        out += "|";
        for (const std::string &cell : row)
            out += " " + markdownText(cell) + " |";
        out += "\n";
    }
    return out + "\n";
}

std::string resultsMarkdown(const Report &report) {
    const ResultTable &table = report.table;
    std::string out = "# " + markdownText(table.title) + "\n\n";
    if (!table.datasetNote.empty())
        out += markdownText(table.datasetNote) + ".\n\n";
    if (const VerdictText verdict = verdictText(table); !verdict.sentence.empty())
        out += markdownText(verdict.sentence + (verdict.spread.empty() ? "" : " " + verdict.spread)) + "\n\n";
    if (const TextTable lines = verdictTable(report.judgement); !lines.rows.empty())
        out += markdownTable(lines);
    for (const std::string &reservation : table.reservations)
        out += "- **Reservation.** " + markdownText(reservation) + "\n";
    if (!table.reservations.empty())
        out += "\n";
    out += markdownTable(textTable(table, TextColumns::All));
    for (const std::string &note : table.notes)
        out += "- " + markdownText(note) + "\n";
    for (const ReportSection &section : reportSections(report)) {
        out += "\n## " + markdownText(section.title) + "\n\n" +
               (section.said.empty() ? "" : markdownText(section.said) + "\n\n");
        if (!section.table.rows.empty())
            out += markdownTable(section.table);
        for (const std::string &line : section.lines)
            out += "- " + markdownText(line) + "\n";
    }
    return out;
}

} // namespace

std::span<const ExportFormatSpec> resultFormats() {
    static constexpr std::array all{
        ExportFormatSpec{ExportFormat::Csv, "csv", "Table (CSV)", true,
                         [](const Report &report) { return resultsCsv(report.table); }},
        ExportFormatSpec{ExportFormat::Json, "json", "Results (JSON)", true,
                         [](const Report &report) { return resultsJson(report.table, report.judgement); }},
        ExportFormatSpec{ExportFormat::Markdown, "md", "Table (Markdown)", false, resultsMarkdown},
        ExportFormatSpec{ExportFormat::Latex, "tex", "Table (LaTeX)", false, latexReport},
        ExportFormatSpec{ExportFormat::Html, "html", "Page (HTML)", false,
                         [](const Report &report) { return htmlReport(report, {}); }},
    };
    return all;
}

std::string resultFormatNames(std::vector<std::string> more) {
    std::vector<std::string> names;
    for (const ExportFormatSpec &spec : resultFormats())
        names.emplace_back(spec.suffix);
    std::ranges::move(more, std::back_inserter(names));
    std::string out;
    for (std::size_t i = 0; i < names.size(); ++i)
        out += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
    return out;
}

Result<ExportFormat> exportFormatFrom(std::string_view suffix) {
    for (const ExportFormatSpec &spec : resultFormats())
        if (spec.suffix == suffix)
            return spec.format;
    return fail(Error::badArgument("there is no export format \"" + std::string(suffix.substr(0, 40)) + "\"",
                                   "use " + resultFormatNames(), "format"));
}

Report reportOf(const ResultTable &table, const std::vector<RunOutcome> &outcomes,
                const std::vector<std::string> &varies, std::vector<ExportedCurve> curves) {
    Judgement judgement = judge(table, outcomes, varies);
    Report out{judged(table, judgement), std::move(judgement), std::move(curves)};
    const std::vector<RepeatGroup> groups = groupsOf(table, outcomes);
    out.target = suggestedTarget(groups, Target::Kind::Accuracy);
    if (!out.target || out.target->value <= 0)
        out.target = suggestedTarget(groups, Target::Kind::Loss);
    if (out.target)
        out.times = timesToTarget(groups, *out.target);
    return out;
}

std::string exportResults(const Report &report, ExportFormat format) {
    return resultFormats()[std::size_t(format)].write(report);
}

bool carriesCurves(ExportFormat format) {
    return resultFormats()[std::size_t(format)].carriesCurves;
}

ExportedCurve exportedCurve(const RunStore &store) {
    ExportedCurve out{store.runId().toStdString(),
                      store.identity().title().toStdString(),
                      store.identity().method().toStdString(),
                      store.losses().all().points(),
                      {}};
    for (const std::string &name : store.metrics().names())
        out.metrics.emplace_back(name, store.metrics().series(name)->points());
    return out;
}

std::string leftOutOfCurves(const std::vector<ExportedCurve> &curves, ExportFormat format) {
    const auto lossless = std::ranges::count_if(
        curves, [](const ExportedCurve &curve) { return curve.points.empty() && !curve.metrics.empty(); });
    if (format != ExportFormat::Csv || lossless == 0)
        return {};
    return std::to_string(lossless) + " of " + std::to_string(curves.size()) + (curves.size() == 1 ? " run" : " runs") +
           " reported no loss, and curves as csv hold nothing else: as json they hold the metrics, too";
}

Result<std::string> exportCurves(const std::vector<ExportedCurve> &curves, ExportFormat format) {
    if (!carriesCurves(format))
        return fail(Error::badArgument("curves are written as csv or json only", "use one of them", "format"));
    if (format == ExportFormat::Json) {
        Json json = Json::array();
        for (const ExportedCurve &curve : curves) {
            json.push_back({{"run", curve.run},
                            {"name", curve.name},
                            {"method", curve.method},
                            {"points", pointsJson(curve.points, "loss")}});
            for (const auto &[name, points] : curve.metrics)
                json.back()["metrics"][name] = pointsJson(points, "value");
        }
        return dump(json, 1) + "\n";
    }
    const bool several = curves.size() != 1;
    std::string out = several ? "Run,Name,Wall time,Step,Value\r\n" : "Wall time,Step,Value\r\n";
    for (const ExportedCurve &curve : curves) {
        const std::string head = several ? csvField(curve.run) + "," + csvField(curve.name) + "," : "";
        for (const LossPoint &point : curve.points)
            out += head + numberText(double(point.wallUs) * 1e-6) + "," + std::to_string(point.step) + "," +
                   numberText(point.loss) + "\r\n";
    }
    return out;
}

Result<void> writeExport(const std::string &path, std::string_view text) {
    if (const std::string why = writeWhole(path, text); !why.empty())
        return fail(Error::badArgument(path + " can't be written: " + why, "choose a folder you may write to"));
    return {};
}

Result<void> checkWritableFolder(const std::string &path) {
    const auto refuse = [&](const std::string &why) {
        return fail(Error::badArgument("the output folder " + path + " can't be written: " + why,
                                       "choose a folder you may write to", "out"));
    };
    if (isAmongRuns(path))
        return refuse(whyNotAmongRuns);
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
        return refuse(error.message());
    if (!std::filesystem::is_directory(path, error))
        return refuse("it is not a folder");
    // access() succeeds for root even on a read-only mount, so try to write.
    const std::string probe = path + "/.lockstep-probe-" + std::to_string(::getpid());
    const Result<void> written = realFileSystem().writeAtomically(probe, "");
    std::filesystem::remove(probe, error);
    if (!written)
        return refuse(written.error().what);
    return {};
}

Result<void> writeAll(const std::string &folder, const Report &report) {
    for (const ExportFormatSpec &spec : resultFormats()) {
        const std::string suffix(spec.suffix);
        if (const auto written = writeExport(folder + "/results." + suffix, spec.write(report)); !written)
            return written;
        if (!spec.carriesCurves)
            continue;
        const Result<std::string> text = exportCurves(report.curves, spec.format);
        if (!text)
            return fail(text.error());
        if (const auto written = writeExport(folder + "/curves." + suffix, *text); !written)
            return written;
    }
    return {};
}

std::string numberText(double value) {
    if (!isFiniteValue(value))
        return {};
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
    return {buffer, end};
}

} // namespace lockstep::core
