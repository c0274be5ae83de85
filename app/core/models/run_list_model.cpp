// SPDX-License-Identifier: MIT
#include "models/run_list_model.h"

#include <algorithm>

#include "models/cells.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

bool standsRight(const RunColumn &column) {
    return isNumeric(column.kind) && column.kind != ColumnKind::Time && column.kind != ColumnKind::Flag;
}

QVariant plainValue(const ColumnValue &value) {
    if (const auto *text = std::get_if<std::string>(&value))
        return qs(*text);
    if (const auto *number = std::get_if<double>(&value))
        return *number;
    return {};
}

/// An empty tag or note is not unknown: nobody wrote one.
bool mayBeEmpty(const RunColumn &column) {
    return column.key == "tags" || column.key == "note" || column.kind == ColumnKind::Flag;
}

QString cellText(const RunColumn &column, const ColumnValue &value) {
    if (std::holds_alternative<std::monostate>(value) && mayBeEmpty(column))
        return {};
    QString text = shownValue(column, value);
    return column.key == "note" ? text.section(u'\n', 0, 0) : text;
}

std::string rowKey(const RunRow &row, const std::vector<RunGroup> &groups, const std::vector<IndexedRun> &runs) {
    return row.run >= 0 ? runs[std::size_t(row.run)].run : "group\n" + groups[std::size_t(row.group)].key;
}

} // namespace

RunListModel::RunListModel(std::unique_ptr<RunIndex> index, QObject *parent)
    : TableModel({}, parent),
      m_index(std::move(index)), m_order{runColumns()[std::size_t(runColumn("started"))], true} {
    std::vector<TableColumn<RunRow>> columns;
    for (const RunColumn &column : runColumns())
        columns.push_back(tableColumn(column));
    columns.push_back(countTableColumn());
    resetTable(std::move(columns), {});
}

RunListModel::~RunListModel() = default;

// --- columns --------------------------------------------------------------------------------------------------------

int RunListModel::countColumn() {
    return int(runColumns().size());
}

const RunColumn *RunListModel::columnAt(int column) const {
    if (column < countColumn())
        return column < 0 ? nullptr : &runColumns()[std::size_t(column)];
    const int place = column - countColumn() - 1;
    return place < 0 || place >= int(m_invented.size()) ? nullptr : &m_invented[std::size_t(place)];
}

int RunListModel::columnOf(std::string_view key) const {
    if (const int column = runColumnAt(key); column >= 0)
        return column;
    const RunColumn *found = findRunColumn(key, m_invented);
    return found ? countColumn() + 1 + int(found - m_invented.data()) : -1;
}

/// Columns stay when no run has their metric any more; otherwise a view's columns would move under the pointer.
void RunListModel::addInvented(const std::vector<IndexedRun> &runs) {
    std::vector<RunColumn> fresh = inventedColumns(runs);
    std::erase_if(fresh, [&](const RunColumn &column) { return columnOf(column.key) >= 0; });
    if (fresh.empty())
        return;
    std::vector<TableColumn<RunRow>> columns;
    for (const RunColumn &column : fresh)
        columns.push_back(tableColumn(column));
    m_invented.insert(m_invented.end(), fresh.begin(), fresh.end());
    appendColumns(std::move(columns));
}

TableColumn<RunRow> RunListModel::tableColumn(const RunColumn &column) const {
    return {qs(column.head),
            [this, column](const RunRow &row) {
                TableCell cell =
                    row.run < 0 ? groupCell(column, groupOf(row).runs) : runCell(column, m_runs[std::size_t(row.run)]);
                cell.number = standsRight(column);
                return cell;
            },
            tr("%1\nIn the filter: %2").arg(qs(column.help), qs(column.key))};
}

TableColumn<RunRow> RunListModel::countTableColumn() const {
    return {tr("Runs"),
            [this](const RunRow &row) {
                if (row.run >= 0)
                    return TableCell{{}, {}, true};
                return TableCell::ofCount(int(groupOf(row).runs.size()));
            },
            tr("How many runs the group has")};
}

TableCell RunListModel::runCell(const RunColumn &column, const IndexedRun &run) {
    const ColumnValue value = column.value(run);
    TableCell cell{cellText(column, value), plainValue(value)};
    if (cell.text == u"-")
        cell.hint = tr("unknown: measured once a run is done, and configured only for Lockstep's own trainer");
    else if (column.key == "state" && !run.reason.empty())
        cell.hint = qs(run.reason);
    else
        cell.hint = column.key == "note" ? qs(run.note) : cell.text;
    return cell;
}

TableCell RunListModel::groupCell(const RunColumn &column, const std::vector<int> &which) const {
    const QString text = groupText(column, m_runs, which);
    TableCell cell{text == u"-" && mayBeEmpty(column) ? QString() : text, {}, false, text};
    if (!column.measured)
        return cell;
    const GroupFigures figures = figuresOf(column, m_runs, which);
    if (figures.mean)
        cell.value = *figures.mean;
    cell.hint = figures.count < 2 ? tr("%n done run(s) know it: no deviation can be given", nullptr, figures.count)
                                  : tr("mean ± standard deviation (n − 1) of %1 done runs").arg(figures.count);
    return cell;
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

RunRows RunListModel::rowsOf(const std::vector<IndexedRun> &runs, const std::vector<int> &sorted) const {
    return m_grouped ? groupedRows(runs, sorted, m_filter, m_order, m_open) : flatRows(runs, sorted, m_filter);
}

void RunListModel::setRuns(std::vector<IndexedRun> runs) {
    if (runs == m_runs)
        return;
    m_sorted = sortedRuns(runs, m_order);
    RunRows rows = rowsOf(runs, m_sorted);
    addInvented(runs);
    show(std::move(rows), &runs);
}

void RunListModel::setFilter(const RunFilter &filter) {
    m_filter = filter;
    show(rowsOf(m_runs, m_sorted), nullptr);
}

void RunListModel::setGrouped(bool grouped) {
    if (grouped == m_grouped)
        return;
    beginResetModel();
    m_grouped = grouped;
    RunRows shown = rowsOf(m_runs, m_sorted);
    m_groups = std::move(shown.groups);
    m_matched = shown.matched;
    setRows(std::move(shown.rows));
    endResetModel();
}

void RunListModel::setOpen(int row, bool open) {
    if (!isGroup(row))
        return;
    if (open)
        m_open.insert(groupOf(rowAt(row)).key);
    else
        m_open.erase(groupOf(rowAt(row)).key);
    show(rowsOf(m_runs, m_sorted), nullptr);
}

void RunListModel::sort(int column, Qt::SortOrder order) {
    const RunColumn *by = columnAt(column);
    if (!by) // the count column does not sort
        return;
    m_order = {*by, order == Qt::DescendingOrder};
    m_sorted = sortedRuns(m_runs, m_order);
    show(rowsOf(m_runs, m_sorted), nullptr);
}

void RunListModel::show(RunRows shown, std::vector<IndexedRun> *runs) {
    if (!runs && !m_grouped && shown.rows == rows())
        return;
    const std::vector<IndexedRun> &coming = runs ? *runs : m_runs;
    const RowPlan plan = planRows(
        rows().size(), [&](std::size_t row) { return rowKey(rows()[row], m_groups, m_runs); }, shown.rows.size(),
        [&](std::size_t row) { return rowKey(shown.rows[row], shown.groups, coming); });
    changeRows(plan, std::move(shown.rows), [&] {
        if (runs)
            m_runs = std::move(*runs);
        m_groups = std::move(shown.groups);
        m_matched = shown.matched;
    });
}

// --- what a row is --------------------------------------------------------------------------------------------------

std::vector<const IndexedRun *> RunListModel::runsOf(const RunRow &row) const {
    if (row.run >= 0)
        return {&m_runs[std::size_t(row.run)]};
    std::vector<const IndexedRun *> out;
    for (const int place : groupOf(row).runs)
        out.push_back(&m_runs[std::size_t(place)]);
    std::stable_sort(out.begin(), out.end(),
                     [](const auto *a, const auto *b) { return a->startWallUs > b->startWallUs; });
    return out;
}

const IndexedRun &RunListModel::runAt(int row) const {
    return *runsOf(rowAt(row)).front();
}

std::vector<const IndexedRun *> RunListModel::runsAt(int row) const {
    return runsOf(rowAt(row));
}

int RunListModel::rowOf(const std::string &run) const {
    for (std::size_t i = 0; i < rows().size(); ++i)
        if (const int place = rows()[i].run; place >= 0 && m_runs[std::size_t(place)].run == run)
            return int(i);
    return -1;
}

const IndexedRun *RunListModel::find(const std::string &run) const {
    const auto found =
        std::find_if(m_runs.begin(), m_runs.end(), [&](const IndexedRun &one) { return one.run == run; });
    return found == m_runs.end() ? nullptr : &*found;
}

QVariant RunListModel::rowData(const RunRow &row, int role) const {
    const bool group = row.run < 0;
    switch (role) {
    case GroupRole:
        return group;
    case MemberRole:
        return !group && row.group >= 0;
    case OpenRole:
        return group && m_open.contains(groupOf(row).key);
    case MethodRole:
        return qs(runsOf(row).front()->method);
    case RunIdRole:
        return qs(runsOf(row).front()->run);
    case Qt::EditRole: // only the name can be edited
        return group ? QVariant() : qs(runsOf(row).front()->title());
    case StateRole:
        return group ? QVariant() : qs(runsOf(row).front()->state);
    case ReasonRole:
        return group ? QVariant() : qs(runsOf(row).front()->reason);
    default:
        return {};
    }
}

bool RunListModel::setData(const QModelIndex &index, const QVariant &value, int role) {
    if (role != Qt::EditRole || !(flags(index) & Qt::ItemIsEditable))
        return false;
    const IndexedRun &run = runAt(index.row());
    if (const QString name = value.toString().trimmed(); name != qs(run.title()))
        Q_EMIT renameAsked(qs(run.run), name);
    return true;
}

Qt::ItemFlags RunListModel::flags(const QModelIndex &index) const {
    Qt::ItemFlags out = TableModel::flags(index);
    if (index.isValid() && index.column() == runColumn("name") && !isGroup(index.row()))
        out |= Qt::ItemIsEditable;
    return out;
}

} // namespace lockstep::core

#include "moc_run_list_model.cpp"
