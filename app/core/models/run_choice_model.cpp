// SPDX-License-Identifier: MIT
#include "models/run_choice_model.h"

#include <algorithm>

#include <QRegularExpression>

#include "models/live_figures.h"
#include "store/run_failure.h"

namespace lockstep::core {
namespace {

/// Of a reason, what the rank wrote before it ended: a list has room for a few words, and the hint has the rest. The whole reason where the
/// rank wrote nothing.
QString causeIn(const QString &reason) {
    static const QRegularExpression before(
        QStringLiteral("^rank \\d+ on \\S+ exited with code \\d+(?: after step \\d+)?: "
                       "(?:(?:\\S*/)?(?:python[\\d.]*|lockstep-trainer): )?(?=\\S)"));
    return QString(reason).remove(before);
}

} // namespace

RunChoiceModel::RunChoiceModel(RunSet *runs, QObject *parent) : TableModel({}, parent), m_runs(runs) {
    resetTable(columns(), choices());
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        m_names.clear();
        setRows(choices());
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, [this](int run, RunStore::Changes what) {
        if (what & (RunStore::Changes(RunStore::Epochs) | RunStore::State | RunStore::Record))
            Q_EMIT dataChanged(index(run, 0), index(run, ColumnCount - 1));
    });
}

std::vector<RunChoice> RunChoiceModel::choices() const {
    std::vector<RunChoice> out;
    for (const RunStore *store : m_runs->stores())
        out.push_back({store, int(out.size())});
    return out;
}

QString RunChoiceModel::nameOf(const RunChoice &row) const {
    return row.place < m_names.size() ? m_names[row.place] : m_runs->label(row.place);
}

QString RunChoiceModel::hintOf(const RunChoice &row) const {
    const auto &record = row.store->record();
    return QStringLiteral("%1, %2, begun %3: %4")
        .arg(nameOf(row), row.store->runId(), wallTime(record ? record->startWallUs : 0),
             hasFailed(*row.store) ? QStringLiteral("failed: ") + QString::fromStdString(endReason(*row.store))
                                   : row.store->lifecycle().sentence());
}

std::vector<TableColumn<RunChoice>> RunChoiceModel::columns() const {
    return {{QStringLiteral("Run"),
             [this](const RunChoice &row) {
                 return TableCell{nameOf(row), nameOf(row), false, hintOf(row)};
             }},
            {QStringLiteral("Loss, last epoch"),
             [this](const RunChoice &row) {
                 const std::optional<double> loss = lastEpochLoss(*row.store);
                 TableCell cell = TableCell::ofNumber(loss);
                 cell.hint = (loss ? QStringLiteral("Mean loss of its last epoch. ") : QString()) + hintOf(row);
                 return cell;
             }},
            {QStringLiteral("Pin"), [](const RunChoice &) {
                 return TableCell{{},
                                  {},
                                  false,
                                  QStringLiteral("Pinned runs stay in the pictures when another experiment is opened")};
             }}};
}

void RunChoiceModel::emitAllChanged() {
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

void RunChoiceModel::setShown(const QString &runId, bool shown) {
    if (shown ? m_hidden.erase(runId) == 0 : !m_hidden.insert(runId).second)
        return;
    emitAllChanged();
    Q_EMIT shownChanged();
}

void RunChoiceModel::showAll(bool shown) {
    for (const RunStore *store : m_runs->stores())
        shown ? void(m_hidden.erase(store->runId())) : void(m_hidden.insert(store->runId()));
    emitAllChanged();
    Q_EMIT shownChanged();
}

void RunChoiceModel::showOnly(const QString &runId) {
    const bool alone = std::all_of(m_runs->stores().begin(), m_runs->stores().end(), [&](const RunStore *store) {
        return isShown(store->runId()) == (store->runId() == runId);
    });
    for (const RunStore *store : m_runs->stores())
        alone || store->runId() == runId ? void(m_hidden.erase(store->runId())) : void(m_hidden.insert(store->runId()));
    emitAllChanged();
    Q_EMIT shownChanged();
}

void RunChoiceModel::setPinned(const QString &runId, bool pinned) {
    if (pinned ? !m_pinned.insert(runId).second : m_pinned.erase(runId) == 0)
        return;
    emitAllChanged();
    Q_EMIT pinnedChanged();
}

QStringList RunChoiceModel::pinned() const {
    return {m_pinned.begin(), m_pinned.end()};
}

void RunChoiceModel::setNames(const QStringList &names) {
    if (names == m_names)
        return;
    m_names = names;
    emitAllChanged();
}

Qt::ItemFlags RunChoiceModel::flags(const QModelIndex &index) const {
    const Qt::ItemFlags flags = TableModel::flags(index);
    return index.isValid() && index.column() != Loss ? flags | Qt::ItemIsUserCheckable : flags;
}

QVariant RunChoiceModel::data(const QModelIndex &index, int role) const {
    if (role != Qt::CheckStateRole || !checkIndex(index, CheckIndexOption::IndexIsValid))
        return TableModel::data(index, role);
    const QString runId = rowAt(index.row()).store->runId();
    if (index.column() == Loss)
        return {};
    return (index.column() == Name ? isShown(runId) : isPinned(runId)) ? Qt::Checked : Qt::Unchecked;
}

QVariant RunChoiceModel::rowData(const RunChoice &row, int role) const {
    switch (role) {
    case MethodRole:
        return row.store->identity().method();
    case RunIdRole:
        return row.store->runId();
    case StateRole:
        return hasFailed(*row.store)              ? QStringLiteral("failed")
               : row.store->lifecycle().unknown() ? QStringLiteral("unknown")
               : row.store->state()               ? qs(wordOf(*row.store->state()))
                                                  : QString();
    case ReasonRole: {
        const bool hasReason = hasFailed(*row.store) || row.store->lifecycle().unknown();
        const std::string why = hasReason ? endReason(*row.store) : std::string();
        return causeIn(QString::fromStdString(why));
    }
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

} // namespace lockstep::core

#include "moc_run_choice_model.cpp"
