#pragma once
#include <vector>

#include <QAbstractTableModel>
#include <QVariant>

#include "models/cells.h"

namespace lockstep::core {

/// A small table that is made anew whole.
struct CellTable {
    QStringList heads, hints;                 ///< hints: a word's meaning, one a column
    std::vector<std::vector<TableCell>> rows; ///< each as long as heads
    QStringList methods;                      ///< one a row or none: the colour of its mark
};

/// Shows a CellTable. For what changes seldom; streams have models of their own.
class CellTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit CellTableModel(QObject *parent = nullptr);
    void setTable(CellTable table);
    [[nodiscard]] const CellTable &table() const { return m_table; }

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    CellTable m_table;
};

} // namespace lockstep::core
