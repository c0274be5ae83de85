// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include <QStringList>

#include "models/table_model.h"

namespace lockstep::core {

/// A small table that is always replaced as a whole.
struct CellTable {
    QStringList heads, hints;                 ///< hints: tooltips, one per column
    std::vector<std::vector<TableCell>> rows; ///< each as long as heads
    QStringList methods;                      ///< one per row, or none: the colour of its mark
};

struct CellRow {
    std::vector<TableCell> cells;
    QString method;
};

/// Shows a CellTable. For tables that change seldom; streams have models of their own.
class CellTableModel : public TableModel<CellRow> {
    Q_OBJECT
public:
    explicit CellTableModel(QObject *parent = nullptr);
    void setTable(CellTable table);

protected:
    [[nodiscard]] QVariant rowData(const CellRow &row, int role) const override;
};

} // namespace lockstep::core
