#include "export/result_columns_detail.h"

#include "analysis/format.h"

namespace lockstep::core {

std::string joined(const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &text : texts)
        out += (out.empty() ? "" : "; ") + text;
    return out;
}

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
        {"speed_up_training", "Speed-up, training", [](const Row &r) { return orNull(r.speedUpTraining); }},
        {"speed_up_run", "Speed-up, run", [](const Row &r) { return orNull(r.speedUpRun); }, -1, TextColumns::Reading},
        {"printed_speed_up", "Printed speed-up", [](const Row &r) { return orNull(r.printedSpeedUp); }, -1,
         TextColumns::All},
        {"efficiency", "Efficiency", [](const Row &r) { return orNull(r.efficiency); }, 1},
        {"test_accuracy", "Test accuracy", [](const Row &r) { return orNull(r.testAccuracy); }, 2},
        {"final_loss", "Final loss", [](const Row &r) { return orNull(r.finalLoss); }},
        {"utilisation", "Utilisation", [](const Row &r) { return orNull(r.utilisation); }, -1, TextColumns::Reading},
        {"nodes", "Nodes", [](const Row &r) { return r.published ? Json(nullptr) : Json(r.nodes); }, -1,
         TextColumns::All},
        {"hosts", "Hosts", [](const Row &r) { return orNull(joined(r.hosts)); }, -1, TextColumns::All},
        {"state", "State", [](const Row &r) { return Json(r.state); }, -1, TextColumns::Reading},
        {"notes", "Notes", [](const Row &r) { return orNull(joined(r.notes)); }, -1, TextColumns::All},
    };
    return all;
}

std::string peopleText(const Json &value, const ResultColumn &column) {
    if (value.is_null())
        return "-";
    if (value.is_number_float())
        return column.percentDigits >= 0 ? percent(value.get<double>(), column.percentDigits).toStdString()
                                         : significant(value.get<double>()).toStdString();
    if (value.is_number())
        return std::to_string(value.get<std::int64_t>());
    return value.get<std::string>();
}

} // namespace lockstep::core
