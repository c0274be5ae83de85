#include "models/run_list_model.h"

#include <algorithm>
#include <unordered_map>

#include "models/cells.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

constexpr std::size_t singly = 64; // more rows than that come or go at once: the view is better told to start anew

const RunColumn &columnAt(int column) {
    return runColumns()[std::size_t(column)];
}

int alignment(const RunColumn &column) {
    const bool right = isNumeric(column.kind) && column.kind != ColumnKind::Time && column.kind != ColumnKind::Flag;
    return int((right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
}

QVariant plainValue(const ColumnValue &value) {
    if (const auto *text = std::get_if<std::string>(&value))
        return qs(*text);
    if (const auto *number = std::get_if<double>(&value))
        return *number;
    return {};
}

/// An empty tag or note is nothing unknown: nobody wrote any.
bool mayBeEmpty(const RunColumn &column) {
    return column.key == "tags" || column.key == "note" || column.kind == ColumnKind::Flag;
}

QString cellText(const RunColumn &column, const ColumnValue &value) {
    if (std::holds_alternative<std::monostate>(value) && mayBeEmpty(column))
        return {};
    QString text = shownValue(column, value);
    return column.key == "note" ? text.section(u'\n', 0, 0) : text;
}

} // namespace

RunListModel::RunListModel(std::unique_ptr<RunIndex> index, QObject *parent)
    : QAbstractTableModel(parent), m_index(std::move(index)), m_order{runColumn("started"), true} {}

RunListModel::~RunListModel() = default;

int RunListModel::countColumn() {
    return int(runColumns().size());
}

// --- what is shown --------------------------------------------------------------------------------------------------

Result<void> RunListModel::refresh() {
    if (!m_index)
        return {};
    const Result<int> changed = m_index->refresh();
    if (!changed)
        return fail(changed.error());
    setRuns(m_index->runs());
    return {};
}

RunRows RunListModel::rowsNow() const {
    return m_grouped ? groupedRows(m_runs, m_sorted, m_filter, m_order, m_open) : flatRows(m_runs, m_sorted, m_filter);
}

void RunListModel::setRuns(std::vector<IndexedRun> runs) {
    if (runs == m_runs)
        return;
    const std::vector<int> sorted = sortedRuns(runs, m_order);
    RunRows rows = m_grouped ? groupedRows(runs, sorted, m_filter, m_order, m_open) : flatRows(runs, sorted, m_filter);
    m_sorted = sorted;
    show(std::move(rows), &runs);
}

void RunListModel::setFilter(const RunFilter &filter) {
    m_filter = filter;
    show(rowsNow(), nullptr);
}

void RunListModel::setGrouped(bool grouped) {
    if (grouped == m_grouped)
        return;
    beginResetModel();
    m_grouped = grouped;
    m_shown = rowsNow();
    endResetModel();
}

void RunListModel::setOpen(int row, bool open) {
    if (!isGroup(row))
        return;
    if (open)
        m_open.insert(groupAt(row).key);
    else
        m_open.erase(groupAt(row).key);
    show(rowsNow(), nullptr);
}

void RunListModel::sort(int column, Qt::SortOrder order) {
    if (column < 0 || column >= countColumn()) // a group's count sorts nothing
        return;
    m_order = {column, order == Qt::DescendingOrder};
    m_sorted = sortedRuns(m_runs, m_order);
    show(rowsNow(), nullptr);
}

std::string RunListModel::keyOf(const RunRows &rows, const std::vector<IndexedRun> &runs, std::size_t row) {
    const RunRow &one = rows.rows[row];
    return one.run >= 0 ? runs[std::size_t(one.run)].run : "group\n" + rows.groups[std::size_t(one.group)].key;
}

/// Goes over to other rows, and other runs when they are given, in the way that disturbs a view least.
void RunListModel::show(RunRows rows, std::vector<IndexedRun> *runs) {
    if (!runs && !m_grouped && rows.rows == m_shown.rows)
        return;
    const std::vector<IndexedRun> &coming = runs ? *runs : m_runs;
    const std::size_t had = m_shown.rows.size(), has = rows.rows.size();
    if (std::max(had, has) - std::min(had, has) <= singly) {
        std::unordered_map<std::string, int> places; // of what comes
        for (std::size_t i = 0; i < has; ++i)
            places.emplace(keyOf(rows, coming, i), int(i));
        std::vector<int> to(had, -1);
        std::size_t kept = 0;
        int last = -1;
        bool inOrder = true;
        for (std::size_t i = 0; i < had; ++i) {
            const auto found = places.find(keyOf(m_shown, m_runs, i));
            if (found == places.end())
                continue;
            to[i] = found->second;
            inOrder = inOrder && to[i] > last;
            last = to[i];
            ++kept;
        }
        if (inOrder && had - kept <= singly && has - kept <= singly)
            return showSingly(std::move(rows), runs, to);
        if (kept == had && kept == has)
            return showReordered(std::move(rows), runs, to);
    }
    beginResetModel();
    if (runs)
        m_runs = std::move(*runs);
    m_shown = std::move(rows);
    endResetModel();
}

void RunListModel::showSingly(RunRows rows, std::vector<IndexedRun> *runs, const std::vector<int> &to) {
    for (int row = int(to.size()) - 1; row >= 0; --row) {
        if (to[std::size_t(row)] >= 0)
            continue;
        beginRemoveRows({}, row, row);
        m_shown.rows.erase(m_shown.rows.begin() + row);
        endRemoveRows();
    }
    // What stays now speaks of the runs and groups that come; what is missing is put in between after that.
    if (runs)
        m_runs = std::move(*runs);
    std::vector<bool> stays(rows.rows.size(), false);
    std::vector<RunRow> left;
    for (const int place : to)
        if (place >= 0) {
            stays[std::size_t(place)] = true;
            left.push_back(rows.rows[std::size_t(place)]);
        }
    const std::vector<RunRow> all = std::move(rows.rows);
    m_shown = std::move(rows);
    m_shown.rows = std::move(left);
    if (!m_shown.rows.empty())
        Q_EMIT dataChanged(index(0, 0), index(int(m_shown.rows.size()) - 1, columnCount() - 1));
    for (int row = 0; row < int(all.size()); ++row) {
        if (stays[std::size_t(row)])
            continue;
        beginInsertRows({}, row, row);
        m_shown.rows.insert(m_shown.rows.begin() + row, all[std::size_t(row)]);
        endInsertRows();
    }
}

void RunListModel::showReordered(RunRows rows, std::vector<IndexedRun> *runs, const std::vector<int> &to) {
    Q_EMIT layoutAboutToBeChanged({}, VerticalSortHint);
    QModelIndexList from = persistentIndexList(), now;
    if (runs)
        m_runs = std::move(*runs);
    m_shown = std::move(rows);
    for (const QModelIndex &old : std::as_const(from))
        now.append(index(to[std::size_t(old.row())], old.column()));
    changePersistentIndexList(from, now);
    Q_EMIT layoutChanged({}, VerticalSortHint);
    if (runs && !m_shown.rows.empty())
        Q_EMIT dataChanged(index(0, 0), index(int(m_shown.rows.size()) - 1, columnCount() - 1));
}

// --- what a row is --------------------------------------------------------------------------------------------------

const IndexedRun &RunListModel::runAt(int row) const {
    return *runsAt(row).front();
}

std::vector<const IndexedRun *> RunListModel::runsAt(int row) const {
    if (!isGroup(row))
        return {&m_runs[std::size_t(rowAt(row).run)]};
    std::vector<const IndexedRun *> out;
    for (const int place : groupAt(row).runs)
        out.push_back(&m_runs[std::size_t(place)]);
    std::stable_sort(out.begin(), out.end(),
                     [](const auto *a, const auto *b) { return a->startWallUs > b->startWallUs; });
    return out;
}

int RunListModel::rowOf(const std::string &run) const {
    for (std::size_t i = 0; i < m_shown.rows.size(); ++i)
        if (const int place = m_shown.rows[i].run; place >= 0 && m_runs[std::size_t(place)].run == run)
            return int(i);
    return -1;
}

const IndexedRun *RunListModel::find(const std::string &run) const {
    const auto found =
        std::find_if(m_runs.begin(), m_runs.end(), [&](const IndexedRun &one) { return one.run == run; });
    return found == m_runs.end() ? nullptr : &*found;
}

// --- cells ----------------------------------------------------------------------------------------------------------

int RunListModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_shown.rows.size());
}
int RunListModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : countColumn() + 1;
}

QVariant RunListModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const int row = index.row();
    switch (role) {
    case GroupRole:
        return isGroup(row);
    case MemberRole:
        return !isGroup(row) && rowAt(row).group >= 0;
    case OpenRole:
        return isGroup(row) && m_open.contains(groupAt(row).key);
    case MethodRole:
        return qs(runAt(row).method);
    case RunIdRole:
        return qs(runAt(row).run);
    case Qt::TextAlignmentRole:
        return index.column() == countColumn() ? int(Qt::AlignRight | Qt::AlignVCenter)
                                               : alignment(columnAt(index.column()));
    default:
        return isGroup(row) ? groupData(row, index.column(), role) : runData(row, index.column(), role);
    }
}

QVariant RunListModel::runData(int row, int column, int role) const {
    const IndexedRun &run = m_runs[std::size_t(rowAt(row).run)];
    if (role == StateRole)
        return qs(run.state);
    if (role == ReasonRole)
        return qs(run.reason);
    if (column == countColumn())
        return {};
    const RunColumn &what = columnAt(column);
    const ColumnValue value = what.value(run);
    const QString text = cellText(what, value);
    switch (role) {
    case Qt::DisplayRole:
        return text;
    case Qt::EditRole:
    case ValueRole:
        return plainValue(value);
    case Qt::ToolTipRole:
        if (text == u"-")
            return tr("not known of this run: it is measured when a run is done, and configured by Lockstep's own "
                      "trainer");
        if (what.key == "state" && !run.reason.empty())
            return qs(run.reason);
        return what.key == "note" ? qs(run.note) : text;
    default:
        return {};
    }
}

QVariant RunListModel::groupData(int row, int column, int role) const {
    const std::vector<int> &which = groupAt(row).runs;
    if (column == countColumn())
        return role == Qt::DisplayRole || role == ValueRole ? QVariant(int(which.size())) : QVariant();
    const RunColumn &what = columnAt(column);
    switch (role) {
    case Qt::DisplayRole: {
        const QString text = groupText(what, m_runs, which);
        return text == u"-" && mayBeEmpty(what) ? QString() : text;
    }
    case ValueRole: {
        const GroupFigures figures = what.measured ? figuresOf(what, m_runs, which) : GroupFigures();
        return figures.mean ? QVariant(*figures.mean) : QVariant();
    }
    case Qt::ToolTipRole: {
        if (!what.measured)
            return groupText(what, m_runs, which);
        const GroupFigures figures = figuresOf(what, m_runs, which);
        if (figures.count < 2)
            return tr("%n done run(s) know it: no deviation can be given", nullptr, figures.count);
        return tr("mean ± standard deviation (n − 1) of %1 done runs").arg(figures.count);
    }
    default:
        return {};
    }
}

bool RunListModel::setData(const QModelIndex &index, const QVariant &value, int role) {
    if (role != Qt::EditRole || !(flags(index) & Qt::ItemIsEditable))
        return false;
    const QString name = value.toString().trimmed();
    if (name != qs(runAt(index.row()).title()))
        Q_EMIT renameAsked(qs(runAt(index.row()).run), name);
    return true;
}

Qt::ItemFlags RunListModel::flags(const QModelIndex &index) const {
    Qt::ItemFlags out = QAbstractTableModel::flags(index);
    if (index.isValid() && index.column() == runColumn("name") && !isGroup(index.row()))
        out |= Qt::ItemIsEditable;
    return out;
}

QVariant RunListModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Vertical)
        return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
    if (section < 0 || section > countColumn())
        return {};
    const bool count = section == countColumn();
    switch (role) {
    case Qt::DisplayRole:
        return count ? tr("Runs") : qs(columnAt(section).head);
    case Qt::ToolTipRole:
        return count ? tr("How many runs the group has")
                     : tr("%1\nIn the filter: %2").arg(qs(columnAt(section).help), qs(columnAt(section).key));
    default:
        return {};
    }
}

} // namespace lockstep::core
