#include "export/export.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "analysis/format.h"
#include "analysis/verdict.h"
#include "ipc/file_system.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

/// One column of the result table in every format.
struct Column {
    const char *key;  ///< CSV head and JSON key, with its unit
    const char *head; ///< Markdown
    std::function<Json(const ResultRow &)> value;
    int percentDigits = -1; ///< Markdown shows a share in %
};

Json orNull(const std::optional<double> &value) {
    return value ? Json(*value) : Json(nullptr);
}
Json orNull(const std::string &value) {
    return value.empty() ? Json(nullptr) : Json(value);
}

std::string joined(const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &text : texts)
        out += (out.empty() ? "" : "; ") + text;
    return out;
}

const std::vector<Column> &columns() {
    using Row = ResultRow;
    static const std::vector<Column> all = {
        {"run", "Run", [](const Row &r) { return Json(r.name); }},
        {"kind", "Kind of figure", [](const Row &r) { return Json(r.kind); }},
        {"method", "Method", [](const Row &r) { return orNull(r.method); }},
        {"devices", "Devices", [](const Row &r) { return Json(r.devices); }},
        {"device_kind", "Device kind", [](const Row &r) { return orNull(r.device); }},
        {"backend", "Backend", [](const Row &r) { return orNull(r.backend); }},
        {"workers", "Workers", [](const Row &r) { return r.workers ? Json(*r.workers) : Json(nullptr); }},
        {"loader", "Loader", [](const Row &r) { return orNull(r.loader); }},
        {"repeats", "Repeats", [](const Row &r) { return r.published ? Json(nullptr) : Json(r.repeats); }},
        {"first_epoch_s", "First epoch (s)", [](const Row &r) { return orNull(r.firstEpochS); }},
        {"epoch_median_s", "Epoch (s)", [](const Row &r) { return orNull(r.epochMedianS); }},
        {"total_training_time_s", "Training time (s)", [](const Row &r) { return orNull(r.totalTrainingTimeS); }},
        {"run_time_s", "Run time (s)", [](const Row &r) { return orNull(r.runTimeS); }},
        {"published_time_s", "Published time (s)", [](const Row &r) { return orNull(r.publishedTimeS); }},
        {"speed_up_training", "Speed-up, training", [](const Row &r) { return orNull(r.speedUpTraining); }},
        {"speed_up_run", "Speed-up, run", [](const Row &r) { return orNull(r.speedUpRun); }},
        {"printed_speed_up", "Printed speed-up", [](const Row &r) { return orNull(r.printedSpeedUp); }},
        {"efficiency", "Efficiency", [](const Row &r) { return orNull(r.efficiency); }, 1},
        {"test_accuracy", "Test accuracy", [](const Row &r) { return orNull(r.testAccuracy); }, 2},
        {"final_loss", "Final loss", [](const Row &r) { return orNull(r.finalLoss); }},
        {"utilisation", "Utilisation", [](const Row &r) { return orNull(r.utilisation); }},
        {"nodes", "Nodes", [](const Row &r) { return r.published ? Json(nullptr) : Json(r.nodes); }},
        {"hosts", "Hosts", [](const Row &r) { return orNull(joined(r.hosts)); }},
        {"state", "State", [](const Row &r) { return Json(r.state); }},
        {"notes", "Notes", [](const Row &r) { return orNull(joined(r.notes)); }},
    };
    return all;
}

std::string dump(const Json &json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string csvText(const Json &value) {
    if (value.is_null())
        return {};
    if (value.is_number_float())
        return numberText(value.get<double>());
    if (value.is_number())
        return std::to_string(value.get<std::int64_t>());
    return csvField(value.get<std::string>());
}

std::string markdownText(const Json &value, const Column &column) {
    if (value.is_null())
        return "-";
    if (value.is_number_float())
        return column.percentDigits >= 0 ? percent(value.get<double>(), column.percentDigits).toStdString()
                                         : significant(value.get<double>()).toStdString();
    if (value.is_number())
        return std::to_string(value.get<std::int64_t>());
    std::string out; // a cell must not end its table
    for (char c : value.get<std::string>())
        if (c == '|')
            out += "\\|";
        else
            out += c == '\n' || c == '\r' ? ' ' : c;
    return out;
}

std::string resultsCsv(const ResultTable &table) {
    std::string out;
    std::size_t classes = 0;
    for (const ResultRow &row : table.rows)
        classes = std::max(classes, row.perClassAccuracy.size());
    for (const Column &column : columns())
        out += (out.empty() ? "" : ",") + csvField(column.key);
    for (std::size_t i = 0; i < classes; ++i)
        out += ",accuracy_class_" + std::to_string(i);
    out += "\r\n";
    for (const ResultRow &row : table.rows) {
        std::string line;
        for (const Column &column : columns())
            line += (&column == columns().data() ? "" : ",") + csvText(column.value(row));
        for (std::size_t i = 0; i < classes; ++i)
            line += "," + (i < row.perClassAccuracy.size() ? numberText(row.perClassAccuracy[i]) : std::string());
        out += line + "\r\n";
    }
    return out;
}

Json finite(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "Inf" : "-Inf";
    return value;
}

Json rowJson(const ResultRow &row) {
    Json json = Json::object();
    for (const Column &column : columns())
        json[column.key] = column.value(row);
    json["notes"] = row.notes;
    json["hosts"] = row.hosts;
    json["published"] = row.published;
    json["reference"] = row.reference;
    json["model"] = orNull(row.model);
    json["dataset"] = orNull(row.dataset);
    json["augment"] = orNull(row.augment);
    json["runs"] = row.runs;
    json["per_class_accuracy"] = row.perClassAccuracy;
    json["epochs"] = Json::array();
    for (const MergedEpoch &epoch : row.epochs) {
        Json one = {{"epoch", epoch.epoch}, {"duration_s", epoch.durationS}};
        one["loss"] = epoch.loss ? finite(*epoch.loss) : Json(nullptr);
        one["test_accuracy"] = epoch.eval && !row.published ? Json(epoch.eval->accuracy) : Json(nullptr);
        json["epochs"].push_back(std::move(one));
    }
    json["devices_use"] = Json::array();
    for (const DeviceUse &use : row.devicesUse)
        json["devices_use"].push_back({{"device", use.device},
                                       {"utilization_mean", orNull(use.utilizationMean)},
                                       {"utilization_max", orNull(use.utilizationMax)},
                                       {"memory_mean_bytes", orNull(use.memoryMeanBytes)},
                                       {"memory_max_bytes", orNull(use.memoryMaxBytes)}});
    json["phases_s"] = Json::object();
    for (const auto &[name, sum] : row.phasesS)
        json["phases_s"][name] = sum;
    return json;
}

std::string resultsJson(const ResultTable &table) {
    Json json = {{"title", table.title}, {"data", table.datasetNote}, {"reference", orNull(table.reference)}};
    json["rows"] = Json::array();
    for (const ResultRow &row : table.rows)
        json["rows"].push_back(rowJson(row));
    const VerdictText verdict = verdictText(table);
    json["verdict"] = orNull(verdict.sentence);
    json["spread"] = orNull(verdict.spread);
    json["notes"] = table.notes;
    return dump(json, 2) + "\n";
}

std::string resultsMarkdown(const ResultTable &table) {
    std::string out = "# " + table.title + "\n\n";
    if (!table.datasetNote.empty())
        out += table.datasetNote + ".\n\n";
    if (const VerdictText verdict = verdictText(table); !verdict.sentence.empty())
        out += verdict.sentence + (verdict.spread.empty() ? "" : " " + verdict.spread) + "\n\n";
    std::string rule = "|";
    out += "|";
    for (const Column &column : columns()) {
        out += std::string(" ") + column.head + " |";
        rule += " --- |";
    }
    out += "\n" + rule + "\n";
    for (const ResultRow &row : table.rows) {
        out += "|";
        for (const Column &column : columns())
            out += " " + markdownText(column.value(row), column) + " |";
        out += "\n";
    }
    out += "\n";
    for (const std::string &note : table.notes)
        out += "- " + note + "\n";
    return out;
}

} // namespace

Result<ExportFormat> exportFormatFrom(std::string_view text) {
    if (text == "csv")
        return ExportFormat::Csv;
    if (text == "json")
        return ExportFormat::Json;
    if (text == "md")
        return ExportFormat::Markdown;
    return fail(Error::badArgument("there is no export format \"" + std::string(text.substr(0, 40)) + "\"",
                                   "use csv, json or md", "format"));
}

std::string exportResults(const ResultTable &table, ExportFormat format) {
    switch (format) {
    case ExportFormat::Csv:
        return resultsCsv(table);
    case ExportFormat::Json:
        return resultsJson(table);
    case ExportFormat::Markdown:
        return resultsMarkdown(table);
    }
    return {};
}

Result<std::string> exportCurves(const std::vector<ExportedCurve> &curves, ExportFormat format) {
    if (format == ExportFormat::Markdown)
        return fail(Error::badArgument("curves can't be written as Markdown", "use csv or json", "format"));
    if (format == ExportFormat::Json) {
        Json json = Json::array();
        for (const ExportedCurve &curve : curves) {
            Json points = Json::array();
            for (const LossPoint &point : curve.points)
                points.push_back({{"wall_time_s", double(point.wallUs) * 1e-6},
                                  {"step", point.step},
                                  {"epoch", point.epoch},
                                  {"loss", finite(point.loss)},
                                  {"loss_min", finite(point.min)},
                                  {"loss_max", finite(point.max)}});
            json.push_back({{"run", curve.run}, {"name", curve.name}, {"method", curve.method}, {"points", points}});
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
    const Result<void> written = realFileSystem().writeAtomically(path, text);
    if (!written)
        return fail(Error::badArgument(path + " can't be written: " + written.error().what,
                                       "choose a folder you may write to"));
    return {};
}

Result<void> checkWritableFolder(const std::string &path) {
    const auto refuse = [&](const std::string &why) {
        return fail(Error::badArgument("the output folder " + path + " can't be written: " + why,
                                       "choose a folder you may write to", "out"));
    };
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
        return refuse(error.message());
    if (!std::filesystem::is_directory(path))
        return refuse("it is not a folder");
    // access() says yes to root on a read-only mount's files, so try.
    const std::string probe = path + "/.lockstep-probe-" + std::to_string(::getpid());
    const Result<void> written = realFileSystem().writeAtomically(probe, "");
    std::filesystem::remove(probe, error);
    if (!written)
        return refuse(written.error().what);
    return {};
}

Result<void> writeAll(const std::string &folder, const ResultTable &table, const std::vector<ExportedCurve> &curves) {
    const std::pair<const char *, ExportFormat> formats[] = {
        {"csv", ExportFormat::Csv}, {"json", ExportFormat::Json}, {"md", ExportFormat::Markdown}};
    for (const auto &[suffix, format] : formats) {
        if (const auto written = writeExport(folder + "/results." + suffix, exportResults(table, format)); !written)
            return written;
        if (format == ExportFormat::Markdown)
            continue;
        const Result<std::string> text = exportCurves(curves, format);
        if (!text)
            return fail(text.error());
        if (const auto written = writeExport(folder + "/curves." + suffix, *text); !written)
            return written;
    }
    return {};
}

std::string csvField(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos)
        return std::string(text);
    std::string out = "\"";
    for (char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

std::string numberText(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "Inf" : "-Inf";
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
    return {buffer, end};
}

} // namespace lockstep::core
