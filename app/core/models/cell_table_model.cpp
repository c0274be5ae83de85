// SPDX-License-Identifier: MIT
#include "models/cell_table_model.h"

namespace lockstep::core {

CellTableModel::CellTableModel(QObject *parent) : TableModel({}, parent) {}

void CellTableModel::setTable(CellTable table) {
    std::vector<TableColumn<CellRow>> columns;
    for (qsizetype i = 0; i < table.heads.size(); ++i)
        columns.push_back(
            {table.heads[i], [i](const CellRow &row) { return row.cells[std::size_t(i)]; }, table.hints.value(i)});
    std::vector<CellRow> rows;
    for (std::vector<TableCell> &cells : table.rows)
        rows.push_back({std::move(cells), table.methods.value(qsizetype(rows.size()))});
    resetTable(std::move(columns), std::move(rows));
}

QVariant CellTableModel::rowData(const CellRow &row, int role) const {
    return role == MethodRole ? QVariant(row.method) : QVariant();
}

} // namespace lockstep::core

#include "moc_cell_table_model.cpp"
