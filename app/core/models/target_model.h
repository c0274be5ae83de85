// SPDX-License-Identifier: MIT
#pragma once
#include "analysis/compare/time_to_target.h"
#include "models/cell_table_model.h"

namespace lockstep::core {

/// How long each setting took until a target was reached: a row a cell.
class TargetModel : public CellTableModel {
    Q_OBJECT
public:
    enum Column {
        Name,
        Time,
        Fastest,
        Slowest,
        Reached,
        SpeedUpColumn,
        Best,
        Energy,
        How
    }; ///< as targetColumns() has them
    explicit TargetModel(QObject *parent = nullptr);
    void setCells(std::vector<Cell> cells);
    void setTarget(const Target &target);
    [[nodiscard]] const Target &target() const { return m_target; }
    [[nodiscard]] const std::vector<TimeToTarget> &times() const { return m_times; }
    /// suggestedTarget() of the cells.
    [[nodiscard]] std::optional<Target> suggestion(Target::Kind kind) const;

private:
    void refresh();
    std::vector<Cell> m_cells;
    Target m_target;
    std::vector<TimeToTarget> m_times; ///< what is shown: a table that did not change keeps its selection
};

} // namespace lockstep::core
