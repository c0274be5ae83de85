#include "models/epoch_model.h"

#include <algorithm>

#include "analysis/result_table.h"
#include "models/cells.h"
#include "models/roles.h"

namespace lockstep::core {

EpochModel::EpochModel(RunSet *runs, QObject *parent) : QAbstractTableModel(parent), m_runs(runs), m_rows(epochs()) {
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        m_rows = epochs();
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, &EpochModel::changed);
}

int EpochModel::epochs() const {
    std::size_t most = 0;
    for (const RunStore *store : m_runs->stores())
        most = std::max(most, store->epochs().size());
    return int(most);
}

void EpochModel::changed(int run, RunStore::Changes what) {
    if (!(what & (RunStore::Changes(RunStore::Epochs) | RunStore::Record)))
        return;
    if (const int now = epochs(); now > m_rows) {
        beginInsertRows({}, m_rows, now - 1);
        m_rows = now;
        endInsertRows();
    }
    if (m_rows > 0)
        Q_EMIT dataChanged(index(0, durationColumn(run)), index(m_rows - 1, lossColumn(run)));
    if (what & RunStore::Record)
        Q_EMIT headerDataChanged(Qt::Horizontal, durationColumn(run), lossColumn(run));
}

std::optional<double> EpochModel::medianDurationS(int run) const {
    std::vector<double> durations;
    for (const MergedEpoch &epoch : m_runs->at(run)->epochs())
        if (epoch.complete)
            durations.push_back(epoch.durationS);
    return median(std::move(durations));
}

int EpochModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : m_rows;
}
int EpochModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : 2 * m_runs->count();
}

QVariant EpochModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const RunStore *store = m_runs->at(index.column() / 2);
    const std::vector<MergedEpoch> &epochs = store->epochs();
    const bool known = index.row() < int(epochs.size());
    const MergedEpoch *epoch = known ? &epochs[std::size_t(index.row())] : nullptr;
    std::optional<double> value;
    if (epoch && index.column() % 2 == 1)
        value = epoch->loss;
    else if (epoch && epoch->complete)
        value = epoch->durationS;
    else if (epoch && !store->over() && epoch->runningS > 0)
        value = epoch->runningS;
    switch (role) {
    case Qt::DisplayRole:
        return significant(value);
    case ValueRole:
        return value ? QVariant(*value) : QVariant();
    case Qt::TextAlignmentRole:
        return int(Qt::AlignRight | Qt::AlignVCenter);
    case MethodRole:
        return store->method();
    case RunIdRole:
        return store->runId();
    case StateRole:
        return !epoch ? QString() : epoch->complete ? QStringLiteral("done") : QStringLiteral("running");
    case Qt::ToolTipRole:
        if (!value)
            return QStringLiteral("not reported yet");
        if (!epoch->complete)
            return QStringLiteral("still running: so far");
        return epoch->readyBatches ? QStringLiteral("%1 batches were ready when it began").arg(*epoch->readyBatches)
                                   : QString();
    default:
        return {};
    }
}

QVariant EpochModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Vertical)
        return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
    if (section < 0 || section >= columnCount())
        return {};
    const bool duration = section % 2 == 0;
    if (role == UnitRole)
        return duration ? QStringLiteral("s") : QString();
    if (role != Qt::DisplayRole)
        return {};
    return m_runs->label(section / 2) + (duration ? QStringLiteral(" duration (s)") : QStringLiteral(" loss"));
}

} // namespace lockstep::core
