#include "models/run_choice_model.h"

#include <algorithm>

#include "models/cells.h"
#include "models/column_head.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

const char *const choiceHeads[RunChoiceModel::ColumnCount] = {"Run", "Loss", "Pin"};

} // namespace

RunChoiceModel::RunChoiceModel(RunSet *runs, QObject *parent) : QAbstractTableModel(parent), m_runs(runs) {
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        m_names.clear();
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, [this](int run, RunStore::Changes what) {
        if (what & (RunStore::Changes(RunStore::Epochs) | RunStore::State | RunStore::Record))
            Q_EMIT dataChanged(index(run, 0), index(run, ColumnCount - 1));
    });
}

void RunChoiceModel::tellAll() {
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

void RunChoiceModel::setShown(const QString &runId, bool shown) {
    if (shown ? m_hidden.erase(runId) == 0 : !m_hidden.insert(runId).second)
        return;
    tellAll();
    Q_EMIT shownChanged();
}

void RunChoiceModel::showAll(bool shown) {
    for (const RunStore *store : m_runs->stores())
        shown ? void(m_hidden.erase(store->runId())) : void(m_hidden.insert(store->runId()));
    tellAll();
    Q_EMIT shownChanged();
}

void RunChoiceModel::showOnly(const QString &runId) {
    const bool alone = std::all_of(m_runs->stores().begin(), m_runs->stores().end(), [&](const RunStore *store) {
        return isShown(store->runId()) == (store->runId() == runId);
    });
    for (const RunStore *store : m_runs->stores())
        alone || store->runId() == runId ? void(m_hidden.erase(store->runId())) : void(m_hidden.insert(store->runId()));
    tellAll();
    Q_EMIT shownChanged();
}

void RunChoiceModel::setPinned(const QString &runId, bool pinned) {
    if (pinned ? !m_pinned.insert(runId).second : m_pinned.erase(runId) == 0)
        return;
    tellAll();
    Q_EMIT pinnedChanged();
}

QStringList RunChoiceModel::pinned() const {
    return {m_pinned.begin(), m_pinned.end()};
}

void RunChoiceModel::setNames(const QStringList &names) {
    if (names == m_names)
        return;
    m_names = names;
    tellAll();
}

int RunChoiceModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : m_runs->count();
}
int RunChoiceModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

Qt::ItemFlags RunChoiceModel::flags(const QModelIndex &index) const {
    const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    return index.isValid() && index.column() != Loss ? flags | Qt::ItemIsUserCheckable : flags;
}

QVariant RunChoiceModel::text(int row, int column) const {
    const RunStore *store = m_runs->at(row);
    if (column == Name)
        return row < m_names.size() ? m_names[row] : m_runs->label(row);
    if (column == Pin)
        return {};
    std::optional<double> loss;
    for (const MergedEpoch &epoch : store->epochs())
        if (epoch.loss)
            loss = epoch.loss;
    return significant(loss);
}

QVariant RunChoiceModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const RunStore *store = m_runs->at(index.row());
    switch (role) {
    case Qt::DisplayRole:
    case ValueRole:
        return text(index.row(), index.column());
    case Qt::CheckStateRole:
        if (index.column() == Loss)
            return {};
        return index.column() == Name ? (isShown(store->runId()) ? Qt::Checked : Qt::Unchecked)
                                      : (isPinned(store->runId()) ? Qt::Checked : Qt::Unchecked);
    case Qt::TextAlignmentRole:
        return int((index.column() == Loss ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        if (index.column() == Pin)
            return QStringLiteral("Pinned runs stay in the pictures when another experiment is opened");
        return QStringLiteral("%1, %2, begun %3: %4")
            .arg(text(index.row(), Name).toString(), store->runId(),
                 wallTime(store->record() ? store->record()->startWallUs : 0), store->stateSentence());
    case MethodRole:
        return store->method();
    case RunIdRole:
        return store->runId();
    case StateRole:
        return store->state() ? qs(toString(*store->state())) : QString();
    default:
        return {};
    }
}

bool RunChoiceModel::setData(const QModelIndex &index, const QVariant &value, int role) {
    if (role != Qt::CheckStateRole || !checkIndex(index, CheckIndexOption::IndexIsValid) || index.column() == Loss)
        return false;
    const QString runId = m_runs->at(index.row())->runId();
    const bool on = value.toInt() == Qt::Checked;
    index.column() == Name ? setShown(runId, on) : setPinned(runId, on);
    return true;
}

QVariant RunChoiceModel::headerData(int section, Qt::Orientation orientation, int role) const {
    return columnHead(choiceHeads, section, orientation, role);
}

} // namespace lockstep::core
