#include "models/result_model.h"

#include <algorithm>

#include "analysis/row_figures.h"
#include "models/cells.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

struct Head {
    const char *title;
    const char *unit;
    const char *help;
};

const Head resultHeads[ResultModel::ColumnCount] = {
    {"Run", "", "Method and number of devices"},
    {"Kind of figure", "", "Measured here, or published: on what, and what the time is"},
    {"Devices", "", "Devices the run uses"},
    {"Backend", "", "What carries DDP's gradients"},
    {"Workers", "", "Loading threads a process; 0 loads inside the training loop"},
    {"Loader", "", "item: an image at a time, as PyTorch's DataLoader; batch: whole batches"},
    {"Repeats", "", "Repeats that are done, of those asked for; figures are medians over them"},
    {"First epoch", "s", "Duration of the first epoch, warm-up included"},
    {"Epoch", "s", "Median duration of the later epochs"},
    {"Training time", "s", "Sum of epoch durations, evaluation left out"},
    {"Run time", "s", "Launch to exit"},
    {"Published time", "s", "As printed; the kind column says what it is"},
    {"Speed-up, training", "×",
     "Reference's training time ÷ this run's, with its 95 % interval; published: computed from the printed times"},
    {"Speed-up, epoch", "×", "Reference's median epoch after the first ÷ this run's, with its 95 % interval"},
    {"Speed-up, run", "×", "Reference's run time ÷ this run's, with its 95 % interval"},
    {"Printed speed-up", "×", "As the publication prints it, beside the computed one"},
    {"Efficiency", "%", "Speed-up in training time ÷ devices"},
    {"Test accuracy", "%", "Over the whole test set, each image once"},
    {"Accuracy difference", "points", "This run's median test accuracy less the reference's"},
    {"Final loss", "", "Sample-weighted mean over all ranks in the last epoch"},
    {"Loss difference", "", "This run's median final loss less the reference's"},
    {"Utilisation", "", "Mean over the epochs, each device"},
    {"Nodes", "", "Machines the run used"},
    {"State", "", "Where the repeats stand"},
    {"Notes", "", "What to know before comparing"},
};

QString joined(const std::vector<std::string> &texts, const QString &between) {
    QStringList list;
    for (const std::string &text : texts)
        list << qs(text);
    return list.join(between);
}

QString repeatsText(const ResultRow &row) {
    return row.published ? QStringLiteral("-") : QStringLiteral("%1 of %2").arg(row.repeats).arg(row.planned);
}

/// What there is to say of an interval, or why there is none.
QString intervalHint(const std::optional<SpeedUp> &speedUp) {
    if (!speedUp)
        return {};
    const QString repeats = QStringLiteral("%1 and %2 repeats").arg(speedUp->referenceRepeats).arg(speedUp->runRepeats);
    if (!speedUp->hasInterval())
        return QStringLiteral("no interval: %1, and it takes %2 of each").arg(repeats).arg(repeatsForInterval);
    return QStringLiteral("95 % interval %1, by Welch's t on the logarithms of %2")
        .arg(qs(rangeText(speedUp)), repeats);
}

TableCell speedUpCell(std::optional<double> factor, const std::optional<SpeedUp> &interval) {
    TableCell cell = TableCell::ofNumber(factor, qs(withRange(factor, interval)));
    cell.hint = intervalHint(interval);
    return cell;
}

TableCell settings(const ResultRow &row, int column) {
    switch (column) {
    case ResultModel::Name:
        return TableCell::ofText(row.name);
    case ResultModel::Kind:
        return TableCell::ofText(row.kind);
    case ResultModel::Devices:
        return TableCell::ofCount(row.devices);
    case ResultModel::Backend:
        return TableCell::ofText(row.backend);
    case ResultModel::Workers:
        return TableCell::ofCount(row.workers);
    case ResultModel::Loader:
        return TableCell::ofText(row.loader);
    case ResultModel::Repeats:
        return {repeatsText(row), row.published ? QVariant() : QVariant(row.repeats), true};
    case ResultModel::Utilisation:
        return TableCell::ofText(row.utilisation);
    case ResultModel::Nodes:
        return {row.published ? QStringLiteral("-") : joined(row.hosts, QStringLiteral(", ")),
                row.published ? QVariant() : QVariant(row.nodes), false};
    case ResultModel::State:
        return TableCell::ofText(row.state);
    case ResultModel::Notes:
        return {joined(row.notes, QStringLiteral("; ")), joined(row.notes, QStringLiteral("; ")), false};
    default:
        return {};
    }
}

TableCell cellOf(const ResultRow &row, int column) {
    switch (column) {
    case ResultModel::FirstEpoch:
        return TableCell::ofNumber(row.firstEpochS);
    case ResultModel::EpochMedian:
        return TableCell::ofNumber(row.epochMedianS);
    case ResultModel::TotalTraining:
        return TableCell::ofNumber(row.totalTrainingTimeS);
    case ResultModel::RunTime:
        return TableCell::ofNumber(row.runTimeS);
    case ResultModel::PublishedTime:
        return TableCell::ofNumber(row.publishedTimeS);
    case ResultModel::SpeedUpTraining:
        return speedUpCell(row.speedUpTraining, row.trainingInterval);
    case ResultModel::SpeedUpEpoch:
        return speedUpCell(row.epochInterval ? std::optional(row.epochInterval->factor) : std::nullopt,
                           row.epochInterval);
    case ResultModel::SpeedUpRun:
        return speedUpCell(row.speedUpRun, row.runInterval);
    case ResultModel::PrintedSpeedUp:
        return TableCell::ofNumber(row.printedSpeedUp);
    case ResultModel::Efficiency:
        return TableCell::ofNumber(row.efficiency,
                                   row.efficiency ? significant(*row.efficiency * 100) : QStringLiteral("-"));
    case ResultModel::Accuracy:
        return TableCell::ofNumber(row.testAccuracy, row.testAccuracy ? QString::number(*row.testAccuracy * 100, 'f', 2)
                                                                      : QStringLiteral("-"));
    case ResultModel::AccuracyDifference:
        return TableCell::ofNumber(row.accuracyDifference, qs(pointsText(row.accuracyDifference)));
    case ResultModel::FinalLoss:
        return TableCell::ofNumber(row.finalLoss);
    case ResultModel::LossDifference:
        return TableCell::ofNumber(row.lossDifference, qs(signedText(row.lossDifference)));
    default:
        return settings(row, column);
    }
}

bool isAgainstReference(int column) {
    return column == ResultModel::SpeedUpEpoch || column == ResultModel::AccuracyDifference ||
           column == ResultModel::LossDifference;
}

QString whyUnknown(const ResultRow &row, int column) {
    if (!row.notes.empty() && row.state == "not run")
        return qs(row.notes.front());
    if (row.published)
        return column == ResultModel::PublishedTime ? qs(row.kind) : QStringLiteral("not published");
    if (column == ResultModel::PublishedTime || column == ResultModel::PrintedSpeedUp)
        return QStringLiteral("a published figure's column");
    if (column == ResultModel::Efficiency && row.speedUpTraining)
        return QStringLiteral("one device, or more than the devices differs: the speed-up says nothing of them alone");
    if (row.state == "done")
        return row.reference && isAgainstReference(column) ? QStringLiteral("the reference itself")
                                                           : QStringLiteral("not measured in this run");
    return QStringLiteral("not known yet: ") + qs(row.state);
}

} // namespace

ResultModel::ResultModel(QObject *parent) : QAbstractTableModel(parent) {}

void ResultModel::setTable(const ResultTable &table) {
    const bool same =
        table.rows.size() == m_table.rows.size() &&
        std::equal(table.rows.begin(), table.rows.end(), m_table.rows.begin(),
                   [](const ResultRow &a, const ResultRow &b) { return a.name == b.name && a.kind == b.kind; });
    if (same) { // a live table keeps its selection
        m_table = table;
        if (!m_table.rows.empty())
            Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
        return;
    }
    beginResetModel();
    m_table = table;
    endResetModel();
}

int ResultModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_table.rows.size());
}
int ResultModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant ResultModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const ResultRow &row = rowAt(index.row());
    const TableCell cell = cellOf(row, index.column());
    switch (role) {
    case Qt::DisplayRole:
        return cell.text;
    case ValueRole:
        return cell.value;
    case Qt::TextAlignmentRole:
        return int((cell.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        return cell.text == u"-"     ? whyUnknown(row, index.column())
               : cell.hint.isEmpty() ? cell.text
                                     : cell.text + QStringLiteral(" - ") + cell.hint;
    case MethodRole:
        return qs(row.method);
    case StateRole:
        return qs(row.state);
    case PublishedRole:
        return row.published;
    case ReasonRole:
        return joined(row.notes, QStringLiteral("; "));
    case RunIdRole:
        return row.runs.empty() ? QVariant() : QVariant(qs(row.runs.front()));
    default:
        return {};
    }
}

QVariant ResultModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Vertical)
        return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
    if (section < 0 || section >= ColumnCount)
        return {};
    const Head &head = resultHeads[section];
    const QString unit = QString::fromUtf8(head.unit);
    if (role == Qt::DisplayRole)
        return unit.isEmpty() ? QString::fromUtf8(head.title)
                              : QString::fromUtf8(head.title) + QStringLiteral(" (") + unit + u')';
    if (role == Qt::ToolTipRole)
        return QString::fromUtf8(head.help);
    if (role == UnitRole)
        return unit;
    return {};
}

ClassAccuracyModel::ClassAccuracyModel(QObject *parent) : QAbstractTableModel(parent) {}

void ClassAccuracyModel::setTable(const ResultTable &table) {
    beginResetModel();
    m_rows.clear();
    m_classes = 0;
    for (const ResultRow &row : table.rows)
        if (!row.perClassAccuracy.empty()) {
            m_rows.push_back(row);
            m_classes = std::max(m_classes, int(row.perClassAccuracy.size()));
        }
    endResetModel();
}

int ClassAccuracyModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}
int ClassAccuracyModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : 1 + m_classes;
}

QVariant ClassAccuracyModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const ResultRow &row = m_rows[std::size_t(index.row())];
    if (role == MethodRole)
        return qs(row.method);
    if (role == PublishedRole)
        return row.published;
    TableCell cell = TableCell::ofText(row.published ? row.name + " (published)" : row.name);
    if (index.column() > 0) {
        const std::size_t which = std::size_t(index.column() - 1);
        std::optional<double> value;
        if (which < row.perClassAccuracy.size())
            value = row.perClassAccuracy[which];
        cell = TableCell::ofNumber(value, value ? QString::number(*value * 100, 'f', 2) : QStringLiteral("-"));
    }
    switch (role) {
    case Qt::DisplayRole:
        return cell.text;
    case ValueRole:
        return cell.value;
    case Qt::TextAlignmentRole:
        return int((cell.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default:
        return {};
    }
}

QVariant ClassAccuracyModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role == UnitRole && orientation == Qt::Horizontal)
        return section > 0 ? QStringLiteral("%") : QString();
    if (role != Qt::DisplayRole)
        return {};
    if (orientation == Qt::Vertical)
        return section + 1;
    return section == 0 ? QStringLiteral("Run") : QStringLiteral("%1 (%)").arg(section - 1);
}

} // namespace lockstep::core
