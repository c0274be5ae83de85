// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include <functional>

#include "app/ui/widgets/tables.h"

class QTableView;

namespace lockstep::ui {

/// Cells of the runs: a triangle shows whether a group is open; its runs are indented.
class RunsDelegate : public CellDelegate {
    Q_OBJECT
public:
    using CellDelegate::CellDelegate;

protected:
    [[nodiscard]] QString textOf(const QModelIndex &index) const override;
};

/// Opens and closes groups: a click on the triangle, Right and Left on the head. Lives with the table.
class GroupToggle : public QObject {
    Q_OBJECT
public:
    GroupToggle(QTableView *table, std::function<void(int row, bool open)> toggle);

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    bool pressed(const QPoint &at);
    bool stepped(int key);
    QTableView *m_table;
    std::function<void(int row, bool open)> m_toggle;
};

} // namespace lockstep::ui
