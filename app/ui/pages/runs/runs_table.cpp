// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_table.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QTableView>

#include "app/ui/theme/theme.h"
#include "models/run_list_model.h"

namespace lockstep::ui {

using core::RunListModel;

QString RunsDelegate::textOf(const QModelIndex &index) const {
    const QString text = CellDelegate::textOf(index);
    if (index.column() != core::runColumn("name"))
        return text;
    if (index.data(RunListModel::GroupRole).toBool())
        return (index.data(RunListModel::OpenRole).toBool() ? QStringLiteral("▾ ") : QStringLiteral("▸ ")) + text;
    return index.data(RunListModel::MemberRole).toBool() ? QStringLiteral("     ") + text : text;
}

GroupToggle::GroupToggle(QTableView *table, std::function<void(int, bool)> toggle)
    : QObject(table), m_table(table), m_toggle(std::move(toggle)) {
    table->installEventFilter(this);
    table->viewport()->installEventFilter(this);
}

bool GroupToggle::eventFilter(QObject *watched, QEvent *event) {
    if (event->type() == QEvent::MouseButtonPress && watched == m_table->viewport())
        return pressed(static_cast<QMouseEvent *>(event)->pos());
    if (event->type() == QEvent::KeyPress && watched == m_table)
        return stepped(static_cast<QKeyEvent *>(event)->key());
    return QObject::eventFilter(watched, event);
}

bool GroupToggle::pressed(const QPoint &at) {
    constexpr int mark = 22, triangle = 20; // as CellDelegate draws them
    const QModelIndex index = m_table->indexAt(at);
    if (!index.data(RunListModel::GroupRole).toBool() || index.column() != core::runColumn("name"))
        return false;
    const int x = at.x() - m_table->visualRect(index).left() - grid;
    if (x < 0 || x > mark + triangle)
        return false;
    m_table->setCurrentIndex(index);
    m_toggle(index.row(), !index.data(RunListModel::OpenRole).toBool());
    return true;
}

bool GroupToggle::stepped(int key) {
    const QModelIndex index = m_table->currentIndex();
    if ((key != Qt::Key_Right && key != Qt::Key_Left) || !index.data(RunListModel::GroupRole).toBool())
        return false;
    m_toggle(index.row(), key == Qt::Key_Right);
    return true;
}

} // namespace lockstep::ui

#include "moc_runs_table.cpp"
