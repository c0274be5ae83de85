#include "models/cell_table_model.h"

#include "models/roles.h"

namespace lockstep::core {

CellTableModel::CellTableModel(QObject *parent) : QAbstractTableModel(parent) {}

void CellTableModel::setTable(CellTable table) {
    beginResetModel();
    m_table = std::move(table);
    endResetModel();
}

int CellTableModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_table.rows.size());
}
int CellTableModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_table.heads.size());
}

QVariant CellTableModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const TableCell &cell = m_table.rows[std::size_t(index.row())][std::size_t(index.column())];
    switch (role) {
    case Qt::DisplayRole:
        return cell.text;
    case ValueRole:
        return cell.value;
    case Qt::ToolTipRole:
        return cell.hint;
    case Qt::TextAlignmentRole:
        return int((cell.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case MethodRole:
        return m_table.methods.value(index.row());
    default:
        return {};
    }
}

QVariant CellTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Vertical)
        return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
    if (role == Qt::DisplayRole)
        return m_table.heads.value(section);
    return role == Qt::ToolTipRole ? QVariant(m_table.hints.value(section)) : QVariant();
}

} // namespace lockstep::core
