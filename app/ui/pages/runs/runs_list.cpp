// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_list.h"

#include <QHeaderView>
#include <QPushButton>
#include <QTableView>

#include <algorithm>

#include "app/ui/pages/runs/runs_columns.h"
#include "app/ui/pages/runs/runs_table.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/tables.h"
#include "models/run_list_model.h"

namespace lockstep::ui {

using core::RunListModel;

RunsList::RunsList(const Theme &theme, RunListModel &list, QWidget *parent)
    : QStackedWidget(parent), m_theme(theme), m_list(list) {
    const int name = core::runColumn("name");
    m_table = makeTable(m_theme, this, name);
    m_table->setItemDelegate(new RunsDelegate(m_theme, name, m_table));
    m_table->setModel(&m_list);
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_columns = new RunColumns(m_table);
    m_table->sortByColumn(core::runColumn("started"), Qt::DescendingOrder);
    m_table->setSortingEnabled(true);
    m_table->setColumnHidden(RunListModel::countColumn(), true);
    m_table->setAccessibleName(tr("Runs"));
    new GroupToggle(m_table, [this](int row, bool open) {
        m_list.setOpen(row, open);
        m_columns->fit();
    });
    connect(m_table, &QTableView::doubleClicked, this, &RunsList::openWanted);
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunsList::chosenChanged);
    connect(&m_list, &QAbstractItemModel::modelAboutToBeReset, this, &RunsList::rememberChoice);
    connect(&m_list, &QAbstractItemModel::modelReset, this, &RunsList::restoreChoice);
    connect(&m_list, &QAbstractItemModel::dataChanged, this, &RunsList::chosenChanged);
    addWidget(m_table);
    addWidget(buildNone());
}

QWidget *RunsList::buildNone() {
    auto *none = new EmptyState(m_theme, QStringLiteral("search"), tr("No run matches"),
                                tr("The filter above matches none of the runs."), tr("Clear the filter"), this);
    none->button()->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Backspace));
    none->button()->setToolTip(tr("Shows all runs again (Ctrl+Backspace)"));
    connect(none, &EmptyState::clicked, this, &RunsList::clearWanted);
    return none;
}

std::vector<const core::IndexedRun *> RunsList::chosen() const {
    std::vector<int> rows;
    for (const QModelIndex &index : m_table->selectionModel()->selectedRows(core::runColumn("name")))
        rows.push_back(index.row());
    std::sort(rows.begin(), rows.end());
    std::vector<const core::IndexedRun *> out;
    for (const int row : rows)
        for (const core::IndexedRun *run : m_list.runsAt(row))
            if (std::find(out.begin(), out.end(), run) == out.end())
                out.push_back(run);
    return out;
}

void RunsList::rememberChoice() {
    m_kept.clear();
    for (const QModelIndex &index : m_table->selectionModel()->selectedRows(core::runColumn("name")))
        m_kept.push_back(m_list.runAt(index.row()).run);
    const QModelIndex current = m_table->currentIndex();
    m_current = current.isValid() ? m_list.runAt(current.row()).run : std::string();
}

void RunsList::restoreChoice() {
    QItemSelection selection;
    constexpr std::size_t most = 500; // looked up one by one
    for (std::size_t i = 0; i < std::min(most, m_kept.size()); ++i)
        if (const int row = m_list.rowOf(m_kept[i]); row >= 0)
            selection.select(m_list.index(row, 0), m_list.index(row, m_list.columnCount() - 1));
    const int row = std::max(0, m_list.rowOf(m_current));
    if (row < m_list.rowCount())
        m_table->selectionModel()->setCurrentIndex(m_list.index(row, core::runColumn("name")),
                                                   QItemSelectionModel::NoUpdate);
    m_table->selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    Q_EMIT chosenChanged();
}

void RunsList::choose(const std::vector<std::string> &runs) {
    m_kept = runs;
    m_current = runs.front();
    restoreChoice();
}

void RunsList::chooseAny() {
    if (m_table->selectionModel()->hasSelection() || m_list.rowCount() == 0)
        return;
    m_table->selectRow(std::clamp(m_table->currentIndex().row(), 0, m_list.rowCount() - 1));
}

void RunsList::fitFirst() {
    if (m_fitted || m_list.rowCount() == 0)
        return;
    m_columns->fit();
    if (!m_table->currentIndex().isValid())
        m_table->setCurrentIndex(m_list.index(0, core::runColumn("name")));
    m_fitted = true;
}

void RunsList::setGrouped(bool grouped) {
    m_list.setGrouped(grouped);
    m_table->setColumnHidden(RunListModel::countColumn(), !grouped);
    m_columns->fit();
    chooseAny();
}

void RunsList::showNoneMatches(bool none) {
    setCurrentIndex(none ? 1 : 0);
}

} // namespace lockstep::ui

#include "moc_runs_list.cpp"
