// SPDX-License-Identifier: MIT
#pragma once
#include "analysis/compare/time_to_target.h"
#include "models/cell_table_model.h"

namespace lockstep::core {

/// The time each configuration took to reach a target: one row per group.
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
    }; ///< in the order of targetColumns()
    explicit TargetModel(QObject *parent = nullptr);
    void setGroups(std::vector<RepeatGroup> groups);
    void setTarget(const Target &target);
    [[nodiscard]] const Target &target() const { return m_target; }
    [[nodiscard]] const std::vector<TimeToTarget> &times() const { return m_times; }
    /// suggestedTarget() of the groups.
    [[nodiscard]] std::optional<Target> suggestion(Target::Kind kind) const;

private:
    void refresh();
    std::vector<RepeatGroup> m_groups;
    Target m_target;
    std::vector<TimeToTarget> m_times; ///< as shown, to keep the selection of an unchanged table
};

} // namespace lockstep::core
