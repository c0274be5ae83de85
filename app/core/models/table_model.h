// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include <QAbstractTableModel>

#include "models/cells.h"
#include "models/roles.h"
#include "models/row_plan.h"

namespace lockstep::core {

/// One column: how it shows a row.
template <class Row> struct TableColumn {
    QString head; ///< with its unit
    std::function<TableCell(const Row &)> cell;
    QString help = {}; ///< the head's tooltip
};

/// A table of rows of one kind, described by its columns. A cell's text, value, alignment and tooltip come from its column;
/// what all cells of a row share (method, run, state …) comes from rowData(). Derived models replace the rows.
template <class Row> class TableModel : public QAbstractTableModel {
public:
    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override {
        return parent.isValid() ? 0 : int(m_rows.size());
    }
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override {
        return parent.isValid() ? 0 : int(m_columns.size());
    }
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override {
        if (!checkIndex(index, CheckIndexOption::IndexIsValid))
            return {};
        const Row &row = rowAt(index.row());
        if (role != Qt::DisplayRole && role != ValueRole && role != Qt::TextAlignmentRole && role != Qt::ToolTipRole)
            return rowData(row, role);
        const TableCell cell = m_columns[std::size_t(index.column())].cell(row);
        switch (role) {
        case Qt::DisplayRole:
            return cell.text;
        case ValueRole:
            return cell.value;
        case Qt::ToolTipRole:
            return cell.hint;
        default:
            return int((cell.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
        }
    }
    /// Rows are counted from 1.
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override {
        if (orientation == Qt::Vertical)
            return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
        if (section < 0 || section >= columnCount())
            return {};
        const TableColumn<Row> &column = m_columns[std::size_t(section)];
        return role == Qt::DisplayRole   ? QVariant(column.head)
               : role == Qt::ToolTipRole ? QVariant(column.help)
                                         : QVariant();
    }
    [[nodiscard]] const Row &rowAt(int row) const { return m_rows[std::size_t(row)]; }

protected:
    explicit TableModel(std::vector<TableColumn<Row>> columns, QObject *parent = nullptr)
        : QAbstractTableModel(parent), m_columns(std::move(columns)) {}

    [[nodiscard]] virtual QVariant rowData(const Row & /*row*/, int /*role*/) const { return {}; }

    [[nodiscard]] const std::vector<Row> &rows() const { return m_rows; }
    void resetRows(std::vector<Row> rows) {
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
    }
    void resetTable(std::vector<TableColumn<Row>> columns, std::vector<Row> rows) {
        beginResetModel();
        m_columns = std::move(columns);
        m_rows = std::move(rows);
        endResetModel();
    }
    /// The same number of rows about the same subjects: a selection stays.
    void updateRows(std::vector<Row> rows) {
        m_rows = std::move(rows);
        emitAllChanged();
    }
    void appendRows(std::vector<Row> rows) { insertRowsAt(rowCount(), std::move(rows)); }
    void insertRowsAt(int at, std::vector<Row> rows) {
        if (rows.empty())
            return;
        beginInsertRows({}, at, at + int(rows.size()) - 1);
        m_rows.insert(m_rows.begin() + at, std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
        endInsertRows();
    }
    void dropFirstRows(int count) {
        beginRemoveRows({}, 0, count - 1);
        m_rows.erase(m_rows.begin(), m_rows.begin() + count);
        endRemoveRows();
    }
    /// Between beginResetModel() and endResetModel().
    void setRows(std::vector<Row> rows) { m_rows = std::move(rows); }
    void appendColumns(std::vector<TableColumn<Row>> columns) {
        beginInsertColumns({}, columnCount(), columnCount() + int(columns.size()) - 1);
        m_columns.insert(m_columns.end(), columns.begin(), columns.end());
        endInsertColumns();
    }
    /// Changes to `rows` by the plan. Rows may refer to data outside the table: `replace` exchanges it after the removed rows
    /// are gone and before the new ones are inserted.
    template <class Replace> void changeRows(const RowPlan &plan, std::vector<Row> rows, const Replace &replace) {
        switch (plan.kind) {
        case RowPlan::Kind::Singly:
            return changeSingly(plan.to, std::move(rows), replace);
        case RowPlan::Kind::Reorder:
            return reorder(plan.to, std::move(rows), replace);
        case RowPlan::Kind::Reset:
            beginResetModel();
            replace();
            m_rows = std::move(rows);
            endResetModel();
        }
    }

private:
    void emitAllChanged() {
        if (!m_rows.empty())
            Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    }
    template <class Replace>
    void changeSingly(const std::vector<int> &to, std::vector<Row> rows, const Replace &replace) {
        for (int row = int(to.size()) - 1; row >= 0; --row) {
            if (to[std::size_t(row)] >= 0)
                continue;
            beginRemoveRows({}, row, row);
            m_rows.erase(m_rows.begin() + row);
            endRemoveRows();
        }
        replace();
        std::vector<bool> stays(rows.size(), false);
        m_rows.clear();
        for (const int place : to)
            if (place >= 0) {
                stays[std::size_t(place)] = true;
                m_rows.push_back(rows[std::size_t(place)]);
            }
        emitAllChanged();
        for (int row = 0; row < int(rows.size()); ++row) {
            if (stays[std::size_t(row)])
                continue;
            beginInsertRows({}, row, row);
            m_rows.insert(m_rows.begin() + row, rows[std::size_t(row)]);
            endInsertRows();
        }
    }
    template <class Replace> void reorder(const std::vector<int> &to, std::vector<Row> rows, const Replace &replace) {
        Q_EMIT layoutAboutToBeChanged({}, VerticalSortHint);
        QModelIndexList from = persistentIndexList(), now;
        replace();
        m_rows = std::move(rows);
        for (const QModelIndex &old : std::as_const(from))
            now.append(index(to[std::size_t(old.row())], old.column()));
        changePersistentIndexList(from, now);
        Q_EMIT layoutChanged({}, VerticalSortHint);
        emitAllChanged();
    }

    std::vector<TableColumn<Row>> m_columns;
    std::vector<Row> m_rows;
};

} // namespace lockstep::core
