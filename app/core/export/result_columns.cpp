#include "export/result_columns_detail.h"

#include "analysis/format.h"
#include "analysis/row_figures.h"

namespace lockstep::core {

std::string joined(const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &text : texts)
        out += (out.empty() ? "" : "; ") + text;
    return out;
}

namespace {

using RowInterval = std::optional<SpeedUp> ResultRow::*;

/// People read an interval beside its factor; data has its ends in columns of their own.
ResultColumn intervalEnd(const char *key, const char *head, RowInterval interval, std::optional<double> SpeedUp::*end) {
    return {key, head,
            [=](const ResultRow &row) { return row.*interval ? orNull((*(row.*interval)).*end) : Json(nullptr); }, -1,
            TextColumns::Data};
}

ResultColumn speedUpColumn(const char *key, const char *head, std::optional<double> (*factor)(const ResultRow &),
                           RowInterval interval, TextColumns least) {
    return {key, head,  [=](const ResultRow &row) { return orNull(factor(row)); },
            -1,  least, [=](const ResultRow &row) { return withRange(factor(row), row.*interval); }};
}

std::optional<double> trainingFactor(const ResultRow &row) {
    return row.speedUpTraining;
}
std::optional<double> epochFactor(const ResultRow &row) {
    return row.epochInterval ? std::optional(row.epochInterval->factor) : std::nullopt;
}
std::optional<double> runFactor(const ResultRow &row) {
    return row.speedUpRun;
}

} // namespace

const std::vector<ResultColumn> &resultColumns() {
    using Row = ResultRow;
    static const std::vector<ResultColumn> all = {
        {"run", "Run", [](const Row &r) { return Json(r.name); }},
        {"kind", "Kind of figure", [](const Row &r) { return Json(r.kind); }, -1, TextColumns::All},
        {"method", "Method", [](const Row &r) { return orNull(r.method); }, -1, TextColumns::All},
        {"devices", "Devices", [](const Row &r) { return Json(r.devices); }, -1, TextColumns::All},
        {"device_kind", "Device kind", [](const Row &r) { return orNull(r.device); }, -1, TextColumns::All},
        {"backend", "Backend", [](const Row &r) { return orNull(r.backend); }, -1, TextColumns::Reading},
        {"workers", "Workers", [](const Row &r) { return r.workers ? Json(*r.workers) : Json(nullptr); }, -1,
         TextColumns::Reading},
        {"loader", "Loader", [](const Row &r) { return orNull(r.loader); }, -1, TextColumns::All},
        {"repeats", "Repeats", [](const Row &r) { return r.published ? Json(nullptr) : Json(r.repeats); }},
        {"first_epoch_s", "First epoch (s)", [](const Row &r) { return orNull(r.firstEpochS); }, -1, TextColumns::All},
        {"epoch_median_s", "Epoch (s)", [](const Row &r) { return orNull(r.epochMedianS); }},
        {"total_training_time_s", "Training time (s)", [](const Row &r) { return orNull(r.totalTrainingTimeS); }},
        {"run_time_s", "Run time (s)", [](const Row &r) { return orNull(r.runTimeS); }, -1, TextColumns::Reading},
        {"published_time_s", "Published time (s)", [](const Row &r) { return orNull(r.publishedTimeS); }},
        speedUpColumn("speed_up_training", "Speed-up, training", trainingFactor, &Row::trainingInterval,
                      TextColumns::Paper),
        intervalEnd("speed_up_training_low", "Speed-up, training, low", &Row::trainingInterval, &SpeedUp::low),
        intervalEnd("speed_up_training_high", "Speed-up, training, high", &Row::trainingInterval, &SpeedUp::high),
        speedUpColumn("speed_up_epoch", "Speed-up, epoch", epochFactor, &Row::epochInterval, TextColumns::Reading),
        intervalEnd("speed_up_epoch_low", "Speed-up, epoch, low", &Row::epochInterval, &SpeedUp::low),
        intervalEnd("speed_up_epoch_high", "Speed-up, epoch, high", &Row::epochInterval, &SpeedUp::high),
        speedUpColumn("speed_up_run", "Speed-up, run", runFactor, &Row::runInterval, TextColumns::Reading),
        intervalEnd("speed_up_run_low", "Speed-up, run, low", &Row::runInterval, &SpeedUp::low),
        intervalEnd("speed_up_run_high", "Speed-up, run, high", &Row::runInterval, &SpeedUp::high),
        {"printed_speed_up", "Printed speed-up", [](const Row &r) { return orNull(r.printedSpeedUp); }, -1,
         TextColumns::All},
        {"efficiency", "Efficiency", [](const Row &r) { return orNull(r.efficiency); }, 1},
        {"test_accuracy", "Test accuracy", [](const Row &r) { return orNull(r.testAccuracy); }, 2},
        {"accuracy_difference", "Accuracy difference (points)",
         [](const Row &r) { return orNull(r.accuracyDifference); }, -1, TextColumns::Reading,
         [](const Row &r) { return pointsText(r.accuracyDifference); }},
        {"final_loss", "Final loss", [](const Row &r) { return orNull(r.finalLoss); }},
        {"loss_difference", "Loss difference", [](const Row &r) { return orNull(r.lossDifference); }, -1,
         TextColumns::Reading, [](const Row &r) { return signedText(r.lossDifference); }},
        {"utilisation", "Utilisation", [](const Row &r) { return orNull(r.utilisation); }, -1, TextColumns::Reading},
        {"nodes", "Nodes", [](const Row &r) { return r.published ? Json(nullptr) : Json(r.nodes); }, -1,
         TextColumns::All},
        {"hosts", "Hosts", [](const Row &r) { return orNull(joined(r.hosts)); }, -1, TextColumns::All},
        {"state", "State", [](const Row &r) { return Json(r.state); }, -1, TextColumns::Reading},
        {"notes", "Notes", [](const Row &r) { return orNull(joined(r.notes)); }, -1, TextColumns::All},
    };
    return all;
}

std::string peopleText(const ResultRow &row, const ResultColumn &column) {
    const Json value = column.value(row);
    if (value.is_null())
        return "-";
    if (column.text)
        return column.text(row);
    if (value.is_number_float())
        return column.percentDigits >= 0 ? percent(value.get<double>(), column.percentDigits).toStdString()
                                         : significant(value.get<double>()).toStdString();
    if (value.is_number())
        return std::to_string(value.get<std::int64_t>());
    return value.get<std::string>();
}

} // namespace lockstep::core
