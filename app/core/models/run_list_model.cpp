#include "models/run_list_model.h"

#include <algorithm>

#include "models/cells.h"
#include "models/column_head.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

const char *const heads[RunListModel::ColumnCount] = {
    "Started",           "Run",          "Recipe",       "State",      "Method", "Devices",    "Backend", "Epochs",
    "Training time (s)", "Run time (s)", "Accuracy (%)", "Final loss", "Host",   "Experiment", "Run id"};

Cell cellOf(const IndexedRun &run, int column) {
    switch (column) {
    case RunListModel::Started:
        return {wallTime(run.startWallUs), qlonglong(run.startWallUs), false};
    case RunListModel::Name:
        return Cell::ofText(run.repeat > 1 ? run.name + " #" + std::to_string(run.repeat) : run.name);
    case RunListModel::Recipe:
        return Cell::ofText(run.recipe);
    case RunListModel::State:
        return Cell::ofText(run.state);
    case RunListModel::Method:
        return Cell::ofText(run.method);
    case RunListModel::Devices:
        return Cell::ofCount(run.devices);
    case RunListModel::Backend:
        return Cell::ofText(run.backend);
    case RunListModel::Epochs:
        return Cell::ofCount(run.epochs);
    case RunListModel::TotalTraining:
        return Cell::ofNumber(run.totalTrainingTimeS);
    case RunListModel::RunTime:
        return Cell::ofNumber(run.runTimeS);
    case RunListModel::Accuracy:
        return Cell::ofNumber(run.testAccuracy, run.testAccuracy ? QString::number(*run.testAccuracy * 100, 'f', 2)
                                                                 : QStringLiteral("-"));
    case RunListModel::FinalLoss:
        return Cell::ofNumber(run.finalLoss);
    case RunListModel::Host:
        return Cell::ofText(run.host);
    case RunListModel::Experiment:
        return Cell::ofText(run.experiment);
    case RunListModel::RunId:
        return Cell::ofText(run.run);
    default:
        return {};
    }
}

} // namespace

RunListModel::RunListModel(std::unique_ptr<RunIndex> index, QObject *parent)
    : QAbstractTableModel(parent), m_index(std::move(index)) {}

RunListModel::~RunListModel() = default;

Result<void> RunListModel::refresh() {
    if (!m_index)
        return {};
    const Result<int> changed = m_index->refresh();
    if (!changed)
        return fail(changed.error());
    const std::vector<IndexedRun> now = m_index->runs();
    // Rows go and come singly, so that a selection and a scroll position stay.
    for (int row = int(m_runs.size()) - 1; row >= 0; --row) {
        const std::string &id = m_runs[std::size_t(row)].run;
        if (std::none_of(now.begin(), now.end(), [&](const IndexedRun &run) { return run.run == id; })) {
            beginRemoveRows({}, row, row);
            m_runs.erase(m_runs.begin() + row);
            endRemoveRows();
        }
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (i < m_runs.size() && m_runs[i].run == now[i].run) {
            if (m_runs[i] == now[i])
                continue;
            m_runs[i] = now[i];
            Q_EMIT dataChanged(QAbstractTableModel::index(int(i), 0),
                               QAbstractTableModel::index(int(i), ColumnCount - 1));
            continue;
        }
        beginInsertRows({}, int(i), int(i));
        m_runs.insert(m_runs.begin() + std::ptrdiff_t(i), now[i]);
        endInsertRows();
    }
    if (m_runs.size() > now.size()) { // an order changed under us: what is left over stands twice
        beginRemoveRows({}, int(now.size()), int(m_runs.size()) - 1);
        m_runs.resize(now.size());
        endRemoveRows();
    }
    return {};
}

int RunListModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_runs.size());
}
int RunListModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant RunListModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const IndexedRun &run = runAt(index.row());
    const Cell cell = cellOf(run, index.column());
    switch (role) {
    case Qt::DisplayRole:
        return cell.text;
    case ValueRole:
        return cell.value;
    case Qt::TextAlignmentRole:
        return int((cell.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        return cell.text == u"-"                                ? QStringLiteral("not known of this run")
               : index.column() == State && !run.reason.empty() ? qs(run.reason)
                                                                : cell.text;
    case MethodRole:
        return qs(run.method);
    case RunIdRole:
        return qs(run.run);
    case StateRole:
        return qs(run.state);
    case ReasonRole:
        return qs(run.reason);
    default:
        return {};
    }
}

QVariant RunListModel::headerData(int section, Qt::Orientation orientation, int role) const {
    return columnHead(heads, section, orientation, role);
}

} // namespace lockstep::core
