// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include <QStringList>

#include "models/table_model.h"

namespace lockstep::core {

/// A small table that is made anew whole.
struct CellTable {
    QStringList heads, hints;                 ///< hints: a word's meaning, one a column
    std::vector<std::vector<TableCell>> rows; ///< each as long as heads
    QStringList methods;                      ///< one a row or none: the colour of its mark
};

struct CellRow {
    std::vector<TableCell> cells;
    QString method;
};

/// Shows a CellTable. For what changes seldom; streams have models of their own.
class CellTableModel : public TableModel<CellRow> {
    Q_OBJECT
public:
    explicit CellTableModel(QObject *parent = nullptr);
    void setTable(CellTable table);

protected:
    [[nodiscard]] QVariant rowData(const CellRow &row, int role) const override;
};

} // namespace lockstep::core
