// SPDX-License-Identifier: MIT
#include "analysis/compare/result_columns.h"

#include "analysis/compare/row_figures.h"
#include "base/format.h"

namespace lockstep::core {
namespace {

ResultValue valueFrom(const std::string &text) {
    return text.empty() ? ResultValue() : ResultValue(text);
}
ResultValue valueFrom(int count) {
    return std::int64_t(count);
}
ResultValue valueFrom(std::optional<int> count) {
    return count ? ResultValue(std::int64_t(*count)) : ResultValue();
}
ResultValue valueFrom(std::optional<double> number) {
    return number ? ResultValue(*number) : ResultValue();
}
ResultValue valueFrom(const std::vector<std::string> &texts) {
    return valueFrom(joinedText(texts));
}

template <class Member> auto memberOf(Member ResultRow::*member) {
    return [member](const ResultRow &row) { return valueFrom(row.*member); };
}
/// Absent for a published figure.
template <class Member> auto measuredMember(Member ResultRow::*member) {
    return [member](const ResultRow &row) { return row.published ? ResultValue() : valueFrom(row.*member); };
}
auto intervalEnd(std::optional<SpeedUp> ResultRow::*interval, std::optional<double> SpeedUp::*which) {
    return [=](const ResultRow &row) { return row.*interval ? valueFrom((*(row.*interval)).*which) : ResultValue(); };
}

/// People read an interval beside its factor; data has its ends in columns of their own.
ResultColumn intervalColumn(std::string_view key, std::optional<SpeedUp> ResultRow::*interval,
                            std::optional<double> SpeedUp::*which) {
    ResultColumn column;
    column.key = key;
    column.unit = "×";
    column.format = ResultFormat::Number;
    column.value = intervalEnd(interval, which);
    column.least = TextColumns::Data;
    return column;
}

std::vector<ResultColumn> rowColumns() {
    return {
        {.key = "run",
         .head = "Run",
         .help = "Method and number of devices",
         .value = memberOf(&ResultRow::name),
         .inWindow = true,
         .measuredHead = "run",
         .publishedHead = "published"},
        {.key = "kind",
         .head = "Kind",
         .help = "Measured here, or published: on what, and what the time is",
         .value = memberOf(&ResultRow::kind),
         .least = TextColumns::All,
         .inWindow = true,
         .publishedHead = "kind"},
        {.key = "method", .head = "Method", .value = memberOf(&ResultRow::method), .least = TextColumns::All},
        {.key = "devices",
         .head = "Devices",
         .help = "Devices the run uses",
         .format = ResultFormat::Count,
         .value = memberOf(&ResultRow::devices),
         .least = TextColumns::All,
         .inWindow = true},
        {.key = "device_kind", .head = "Device kind", .value = memberOf(&ResultRow::device), .least = TextColumns::All},
        {.key = "backend",
         .head = "Backend",
         .help = "What carries DDP's gradients",
         .value = memberOf(&ResultRow::backend),
         .least = TextColumns::Reading,
         .inWindow = true,
         .measuredHead = "backend"},
        {.key = "workers",
         .head = "Workers",
         .help = "Loading threads per process; 0 loads inside the training loop",
         .format = ResultFormat::Count,
         .value = memberOf(&ResultRow::workers),
         .least = TextColumns::Reading,
         .inWindow = true,
         .measuredHead = "workers",
         .publishedHead = "workers"},
        {.key = "loader",
         .head = "Loader",
         .help = "item: an image at a time, as PyTorch's DataLoader; batch: whole batches",
         .value = memberOf(&ResultRow::loader),
         .least = TextColumns::All,
         .inWindow = true},
        {.key = "repeats",
         .head = "Repeats",
         .help = "Repeats that are done, of those asked for, without those that made no epoch; times are geometric "
                 "means over them, other figures medians",
         .format = ResultFormat::Repeats,
         .value = measuredMember(&ResultRow::repeats),
         .inWindow = true,
         .measuredHead = "repeats"},
        {.key = "repeats_planned",
         .head = "Repeats asked for",
         .help = "Repeats that were asked for, done or not",
         .format = ResultFormat::Count,
         .value = measuredMember(&ResultRow::planned),
         .least = TextColumns::Data},
    };
}

std::vector<ResultColumn> timeColumns() {
    return {
        {.key = "first_epoch_s",
         .head = "First epoch",
         .unit = "s",
         .help = "Duration of the first epoch, warm-up included; geometric mean over the repeats",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::firstEpochS),
         .least = TextColumns::All,
         .inWindow = true},
        {.key = "epoch_median_s",
         .head = "Epoch",
         .unit = "s",
         .help = "Median duration of the later epochs; geometric mean over the repeats, as in the speed-up",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::epochMedianS),
         .inWindow = true,
         .measuredHead = "epoch s"},
        {.key = "total_training_time_s",
         .head = "Training time",
         .unit = "s",
         .help = "Sum of epoch durations, without evaluation; geometric mean over the repeats, as in the speed-up",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::totalTrainingTimeS),
         .inWindow = true,
         .measuredHead = "training s"},
        {.key = "run_time_s",
         .head = "Run time",
         .unit = "s",
         .help = "Launch to exit; geometric mean over the repeats, as in the speed-up",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::runTimeS),
         .least = TextColumns::Reading,
         .inWindow = true,
         .measuredHead = "run s"},
        {.key = "published_time_s",
         .head = "Published time",
         .unit = "s",
         .help = "As printed; the kind column says what it is",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::publishedTimeS),
         .inWindow = true,
         .publishedHead = "time s"},
    };
}

std::vector<ResultColumn> speedUpColumns() {
    return {
        {.key = "speed_up_training",
         .head = "Speed-up, training",
         .unit = "×",
         .help = "Reference's training time ÷ this run's, with its 95 % interval; published: computed from the printed "
                 "times",
         .format = ResultFormat::Factor,
         .value = memberOf(&ResultRow::speedUpTraining),
         .inWindow = true,
         .measuredHead = "speed-up",
         .publishedHead = "speed-up",
         .interval = &ResultRow::trainingInterval},
        intervalColumn("speed_up_training_low", &ResultRow::trainingInterval, &SpeedUp::low),
        intervalColumn("speed_up_training_high", &ResultRow::trainingInterval, &SpeedUp::high),
        {.key = "speed_up_epoch",
         .head = "Speed-up, epoch",
         .unit = "×",
         .help = "Reference's median epoch after the first ÷ this run's, with its 95 % interval",
         .format = ResultFormat::Factor,
         .value =
             [](const ResultRow &row) {
                 return row.epochInterval ? ResultValue(row.epochInterval->factor) : ResultValue();
             },
         .least = TextColumns::Reading,
         .inWindow = true,
         .interval = &ResultRow::epochInterval},
        intervalColumn("speed_up_epoch_low", &ResultRow::epochInterval, &SpeedUp::low),
        intervalColumn("speed_up_epoch_high", &ResultRow::epochInterval, &SpeedUp::high),
        {.key = "speed_up_run",
         .head = "Speed-up, run",
         .unit = "×",
         .help = "Reference's run time ÷ this run's, with its 95 % interval",
         .format = ResultFormat::Factor,
         .value = memberOf(&ResultRow::speedUpRun),
         .least = TextColumns::Reading,
         .inWindow = true,
         .measuredHead = "(run)",
         .interval = &ResultRow::runInterval},
        intervalColumn("speed_up_run_low", &ResultRow::runInterval, &SpeedUp::low),
        intervalColumn("speed_up_run_high", &ResultRow::runInterval, &SpeedUp::high),
        {.key = "printed_speed_up",
         .head = "Printed speed-up",
         .unit = "×",
         .help = "As the publication prints it, beside the computed one",
         .format = ResultFormat::Factor,
         .value = memberOf(&ResultRow::printedSpeedUp),
         .least = TextColumns::All,
         .inWindow = true,
         .publishedHead = "printed"},
        {.key = "efficiency",
         .head = "Efficiency",
         .unit = "%",
         .help = "Speed-up in training time ÷ how many times as many devices as the reference has",
         .format = ResultFormat::Share,
         .value = memberOf(&ResultRow::efficiency),
         .inWindow = true,
         .measuredHead = "efficiency",
         .publishedHead = "efficiency",
         .decimals = 1,
         .terminalDecimals = 0},
    };
}

std::vector<ResultColumn> accuracyAndLossColumns() {
    return {
        {.key = "test_accuracy",
         .head = "Test accuracy",
         .unit = "%",
         .help = "Over the whole test set, each image once; of the last epoch that was tested",
         .format = ResultFormat::Share,
         .value = memberOf(&ResultRow::testAccuracy),
         .inWindow = true,
         .measuredHead = "accuracy",
         .publishedHead = "accuracy",
         .decimals = 2,
         .terminalDecimals = 2},
        {.key = "accuracy_difference",
         .head = "Accuracy difference",
         .unit = "points",
         .help =
             "This run's median test accuracy less the reference's, after the same epoch where not all were tested at "
             "the end",
         .format = ResultFormat::Points,
         .value = memberOf(&ResultRow::accuracyDifference),
         .least = TextColumns::Reading,
         .inWindow = true},
        {.key = "final_loss",
         .head = "Final loss",
         .help = "Sample-weighted mean over all ranks in the last epoch",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::finalLoss),
         .inWindow = true,
         .measuredHead = "loss"},
        {.key = "loss_difference",
         .head = "Loss difference",
         .help = "This run's median final loss less the reference's",
         .format = ResultFormat::Difference,
         .value = memberOf(&ResultRow::lossDifference),
         .least = TextColumns::Reading,
         .inWindow = true},
        {.key = "utilisation",
         .head = "Utilisation",
         .help = "Mean over the epochs, each device",
         .value = memberOf(&ResultRow::utilisation),
         .least = TextColumns::Reading,
         .inWindow = true,
         .measuredHead = "utilisation",
         .publishedHead = "utilisation"},
        {.key = "memory",
         .head = "Memory",
         .help = "The most that each device used in an epoch: of a GPU, all that was allocated there; of a CPU device, "
                 "its rank's whole process",
         .value = memberOf(&ResultRow::memory),
         .least = TextColumns::All,
         .inWindow = true},
    };
}

std::vector<ResultColumn> stateColumns() {
    return {
        {.key = "nodes",
         .head = "Nodes",
         .help = "Machines the run used",
         .format = ResultFormat::Nodes,
         .value = measuredMember(&ResultRow::nodes),
         .least = TextColumns::All,
         .inWindow = true},
        {.key = "hosts", .head = "Hosts", .value = memberOf(&ResultRow::hosts), .least = TextColumns::All},
        {.key = "state",
         .head = "State",
         .help = "State of the repeats",
         .value = memberOf(&ResultRow::state),
         .least = TextColumns::Reading,
         .inWindow = true,
         .measuredHead = "state"},
        {.key = "notes",
         .head = "Notes",
         .help = "What to know before comparing",
         .format = ResultFormat::Remarks,
         .value = memberOf(&ResultRow::notes),
         .least = TextColumns::All,
         .inWindow = true},
    };
}

std::vector<ResultColumn> energyColumns() {
    return {
        {.key = "gpu_energy_j",
         .head = "GPU energy",
         .unit = "J",
         .help = "Of the run's GPUs, launch to exit; NVML's counter, else power × time",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::energyGpusJ),
         .least = TextColumns::All,
         .inWindow = true},
        {.key = "machine_energy_j",
         .head = "Processor energy",
         .unit = "J",
         .help = "Of the machine's processor packages (RAPL), launch to exit: all that ran there, not the run alone; "
                 "without memory",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::energyPackagesJ),
         .least = TextColumns::All,
         .inWindow = true},
        {.key = "energy_per_sample_j",
         .head = "Energy a sample",
         .unit = "J",
         .help = "Energy of the devices that trained (GPUs, or the machine's processor packages), launch to exit, ÷ "
                 "training samples",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::energyPerSampleJ),
         .least = TextColumns::All,
         .inWindow = true},
        {.key = "energy_unknown",
         .head = "Why energy is unknown",
         .help = "Why there is no energy of the devices that trained",
         .value = memberOf(&ResultRow::energyUnknown),
         .least = TextColumns::Data},
        {.key = "gpu_hours_waiting",
         .head = "GPU-hours waiting",
         .unit = "h",
         .help =
             "Training time in which GPUs waited for data or for other ranks, summed over GPUs; where a rank has one "
             "GPU",
         .format = ResultFormat::Number,
         .value = memberOf(&ResultRow::gpuHoursWaiting),
         .least = TextColumns::All,
         .inWindow = true},
    };
}

std::string shareOfColumn(const ResultColumn &column, double share, ResultPlace place) {
    if (place == ResultPlace::Window) // its head has the %
        return QString::number(share * 100, 'f', column.decimals).toStdString();
    return percent(share, place == ResultPlace::Terminal ? column.terminalDecimals : column.decimals).toStdString();
}

std::string columnFigure(const ResultColumn &column, const ResultRow &row, double value, ResultPlace place) {
    switch (column.format) {
    case ResultFormat::Factor:
        return place == ResultPlace::Terminal ? speedUp(value).toStdString()
                                              : withRange(value, column.interval ? row.*column.interval : std::nullopt);
    case ResultFormat::Share:
        return shareOfColumn(column, value, place);
    case ResultFormat::Points:
        return pointsText(value);
    case ResultFormat::Difference:
        return signedText(value);
    default:
        return significant(value).toStdString();
    }
}

std::string countOfColumn(const ResultColumn &column, const ResultRow &row, std::int64_t count, ResultPlace place) {
    const std::string text = std::to_string(count);
    if (column.format == ResultFormat::Nodes && place == ResultPlace::Window)
        return joinedText(row.hosts, ", ");
    const bool showsPlanned = place != ResultPlace::Report || count != row.planned;
    if (column.format != ResultFormat::Repeats || !showsPlanned)
        return text;
    return text + (place == ResultPlace::Window ? " of " : "/") + std::to_string(row.planned);
}

} // namespace

std::span<const ResultColumn> resultColumns() {
    static const std::vector<ResultColumn> columns = [] {
        std::vector<ResultColumn> all;
        for (auto part :
             {rowColumns(), timeColumns(), speedUpColumns(), accuracyAndLossColumns(), energyColumns(), stateColumns()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return columns;
}

std::string shownHead(const ResultColumn &column, ResultPlace place) {
    const bool inCells = column.format == ResultFormat::Share || column.format == ResultFormat::Factor;
    const bool bare = column.unit.empty() || (place == ResultPlace::Report && inCells);
    return std::string(column.head) + (bare ? "" : " (" + std::string(column.unit) + ")");
}

std::string shownText(const ResultColumn &column, const ResultRow &row, ResultPlace place) {
    const ResultValue value = column.value(row);
    if (const auto *number = std::get_if<double>(&value))
        return columnFigure(column, row, *number, place);
    if (const auto *count = std::get_if<std::int64_t>(&value))
        return countOfColumn(column, row, *count, place);
    if (const auto *text = std::get_if<std::string>(&value))
        return *text;
    return column.format == ResultFormat::Remarks && place == ResultPlace::Window ? std::string() : "-";
}

std::string joinedText(const std::vector<std::string> &texts, std::string_view between) {
    std::string out;
    for (const std::string &text : texts)
        out += (out.empty() ? "" : std::string(between)) + text;
    return out;
}

} // namespace lockstep::core
