// SPDX-License-Identifier: MIT
#include "models/result_model.h"

#include <algorithm>

#include "analysis/compare/row_figures.h"
#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

/// The explanation of an interval, or why there is none.
QString intervalHint(const std::optional<SpeedUp> &speedUp) {
    if (!speedUp)
        return {};
    const QString repeats = QStringLiteral("%1 and %2 repeats").arg(speedUp->referenceRepeats).arg(speedUp->runRepeats);
    if (speedUp->shareEpochs)
        return QStringLiteral("no interval: ") + QString::fromUtf8(core::sharedEpochsReason);
    if (!speedUp->hasInterval())
        return QStringLiteral("no interval: %1, and it takes %2 of each").arg(repeats).arg(repeatsForInterval);
    QString hint = QStringLiteral("95 % interval %1 (%2), of the logarithms of %3")
                       .arg(qs(rangeText(speedUp)), qs(toString(speedUp->method)), repeats);
    if (speedUp->isUnsettled())
        hint += QStringLiteral("; can't tell yet, ") + qs(busyText(*speedUp->disturbance));
    else if (speedUp->leavesOutOne() && !speedUp->isDifferent())
        hint += QStringLiteral("; can't tell yet among %1 comparisons (Holm)").arg(speedUp->comparisons);
    return hint;
}

bool isAgainstReference(std::string_view key) {
    return key == "speed_up_epoch" || key == "accuracy_difference" || key == "loss_difference";
}

QString whyUnknown(const ResultRow &row, std::string_view key) {
    if (!row.notes.empty() && row.state == "not run")
        return qs(row.notes.front());
    if (row.published)
        return key == "published_time_s" ? qs(row.kind) : QStringLiteral("not published");
    if (key == "published_time_s" || key == "printed_speed_up")
        return QStringLiteral("a published figure's column");
    if (key == "efficiency" && row.speedUpTraining)
        return QStringLiteral(
            "no more devices than the reference, or more than the devices differs: the speed-up says nothing of "
            "them alone");
    if (row.otherWork && (key.starts_with("speed_up_") || key == "efficiency"))
        return QStringLiteral("different work than the reference's, so times can't be compared");
    if (row.state == "done" && key == "speed_up_run" && row.firstEpoch != 1)
        return QStringLiteral("it went on from a checkpoint and made only the epochs that were left");
    if (row.state == "done" && key == "speed_up_run" && row.timedUnlike)
        return QStringLiteral(
            "of this run or of the reference only the time from its first frame to its last is known");
    if (row.state == "done" && key == "epoch_median_s" && row.firstEpochS)
        return QStringLiteral("it made no epoch after the first");
    if (row.state == "done" && key == "gpu_hours_waiting")
        return QStringLiteral("no GPU of its own for each rank");
    if (row.state == "done" && key.find("energy") != key.npos && !row.energyUnknown.empty())
        return qs(row.energyUnknown);
    if (row.state == "done" && key == "memory")
        return QStringLiteral(
            "no sample of it; of devices that share one process (DP's replicas on a CPU) each one's part is not known");
    if (row.state == "done")
        return row.reference && isAgainstReference(key) ? QStringLiteral("the reference itself")
                                                        : QStringLiteral("not measured in this run");
    return QStringLiteral("not known yet: ") + qs(row.state);
}

QVariant variantOf(const ResultValue &value) {
    if (const auto *number = std::get_if<double>(&value))
        return *number;
    if (const auto *count = std::get_if<std::int64_t>(&value))
        return int(*count);
    const auto *text = std::get_if<std::string>(&value);
    return text ? QVariant(qs(*text)) : QVariant();
}

bool isWords(ResultFormat format) {
    return format == ResultFormat::Text || format == ResultFormat::Remarks || format == ResultFormat::Nodes;
}

TableCell resultCell(const ResultColumn &column, const ResultRow &row) {
    TableCell cell{qs(shownText(column, row, ResultPlace::Window)), variantOf(column.value(row)),
                   !isWords(column.format)};
    const QString interval = column.interval ? intervalHint(row.*column.interval) : QString();
    cell.hint = cell.text == u"-"    ? whyUnknown(row, column.key)
                : interval.isEmpty() ? cell.text
                                     : cell.text + QStringLiteral(" - ") + interval;
    return cell;
}

std::vector<TableColumn<ResultRow>> windowColumns() {
    std::vector<TableColumn<ResultRow>> out;
    for (const ResultColumn &column : resultColumns())
        if (column.inWindow)
            out.push_back({qs(shownHead(column, ResultPlace::Window)),
                           [&column](const ResultRow &row) { return resultCell(column, row); }, qs(column.help)});
    return out;
}

} // namespace

ResultModel::ResultModel(QObject *parent) : TableModel(windowColumns(), parent) {
    Q_ASSERT(columnCount() >= ColumnCount);
}

void ResultModel::setTable(const ResultTable &table) {
    const bool same =
        table.rows.size() == rows().size() &&
        std::equal(table.rows.begin(), table.rows.end(), rows().begin(),
                   [](const ResultRow &a, const ResultRow &b) { return a.name == b.name && a.kind == b.kind; });
    m_table = table;
    if (same) // a live table keeps its selection
        updateRows(table.rows);
    else
        resetRows(table.rows);
}

QVariant ResultModel::rowData(const ResultRow &row, int role) const {
    switch (role) {
    case MethodRole:
        return qs(row.method);
    case StateRole:
        return qs(row.state);
    case PublishedRole:
        return row.published;
    case ReasonRole:
        return qs(joinedText(row.notes));
    case RunIdRole:
        return row.runs.empty() ? QVariant() : QVariant(qs(row.runs.front()));
    default:
        return {};
    }
}

namespace {

std::vector<TableColumn<ResultRow>> classColumns(const std::vector<std::string> &classes) {
    std::vector<TableColumn<ResultRow>> out = {
        {QStringLiteral("Run"),
         [](const ResultRow &row) { return TableCell::ofText(row.published ? row.name + " (published)" : row.name); }}};
    for (std::size_t i = 0; i < std::min(classes.size(), ClassAccuracyModel::mostClasses); ++i)
        out.push_back({qs(classes[i]), [i](const ResultRow &row) {
                           if (i >= row.perClassAccuracy.size())
                               return TableCell::ofNumber(std::nullopt);
                           const double share = row.perClassAccuracy[i];
                           if (!isShare(share)) // no image of that class was tested
                               return TableCell::ofNumber(std::nullopt);
                           return TableCell::ofNumber(share, QString::number(share * 100, 'f', 2));
                       }});
    return out;
}

} // namespace

ClassAccuracyModel::ClassAccuracyModel(QObject *parent) : TableModel(classColumns({}), parent) {}

void ClassAccuracyModel::setTable(const ResultTable &table) {
    std::vector<ResultRow> rows;
    for (const ResultRow &row : table.rows)
        if (!row.perClassAccuracy.empty())
            rows.push_back(row);
    resetTable(classColumns(classHeadings(table)), std::move(rows));
}

QVariant ClassAccuracyModel::rowData(const ResultRow &row, int role) const {
    return role == MethodRole ? QVariant(qs(row.method)) : role == PublishedRole ? QVariant(row.published) : QVariant();
}

} // namespace lockstep::core
