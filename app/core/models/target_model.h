#pragma once
#include <QAbstractTableModel>

#include "analysis/time_to_target.h"

namespace lockstep::core {

/// How long each setting took until a target was reached: a row a cell.
class TargetModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Time, Fastest, Slowest, Reached, SpeedUpColumn, Best, How, ColumnCount };
    explicit TargetModel(QObject *parent = nullptr);
    void setCells(std::vector<Cell> cells);
    void setTarget(const Target &target);
    [[nodiscard]] const Target &target() const { return m_target; }
    /// A target that all cells reached: the worst of their best values, accuracy rounded down to a whole percent, loss up to
    /// two digits. Absent: no cell has such values.
    [[nodiscard]] std::optional<Target> suggestion(Target::Kind kind) const;

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    void refresh();
    std::vector<Cell> m_cells;
    Target m_target;
    std::vector<TimeToTarget> m_rows;
};

} // namespace lockstep::core
