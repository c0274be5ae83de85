// SPDX-License-Identifier: MIT
#include "models/target_model.h"

#include "analysis/compare/target_columns.h"

namespace lockstep::core {
namespace {

TableCell targetCell(const TargetColumn &column, const TimeToTarget &row, Target::Kind kind) {
    const std::string text = column.text(row, kind, ResultPlace::Window);
    TableCell cell = column.figure ? TableCell::ofNumber(column.figure(row), qs(text)) : TableCell::ofText(text);
    cell.hint = qs(row.how);
    return cell;
}

QString methodOfGroup(const RepeatGroup &group) {
    return group.runs.empty() || !group.runs.front().config ? QString()
                                                            : qs(toString(group.runs.front().config->method));
}

} // namespace

TargetModel::TargetModel(QObject *parent) : CellTableModel(parent) {}

void TargetModel::setGroups(std::vector<RepeatGroup> groups) {
    m_groups = std::move(groups);
    refresh();
}

void TargetModel::setTarget(const Target &target) {
    m_target = target;
    refresh();
}

void TargetModel::refresh() {
    std::vector<TimeToTarget> times = timesToTarget(m_groups, m_target);
    if (times == m_times)
        return;
    m_times = std::move(times);
    CellTable shown;
    for (const TargetColumn &column : targetColumns())
        shown.heads.append(qs(shownHead(column, m_target, ResultPlace::Window)));
    for (std::size_t i = 0; i < m_times.size(); ++i) {
        std::vector<TableCell> &cells = shown.rows.emplace_back();
        for (const TargetColumn &column : targetColumns())
            cells.push_back(targetCell(column, m_times[i], m_target.kind));
        shown.methods.append(methodOfGroup(m_groups[i]));
    }
    setTable(std::move(shown));
}

std::optional<Target> TargetModel::suggestion(Target::Kind kind) const {
    return suggestedTarget(m_groups, kind);
}

} // namespace lockstep::core

#include "moc_target_model.cpp"
