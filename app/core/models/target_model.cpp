#include "models/target_model.h"

namespace lockstep::core {
namespace {

TableCell bestCell(const TimeToTarget &row, Target::Kind kind) {
    if (!row.best)
        return TableCell::ofNumber(row.best);
    return TableCell::ofNumber(row.best, kind == Target::Kind::Accuracy
                                             ? QString::number(*row.best * 100, 'f', 2) + QStringLiteral(" %")
                                             : significant(row.best));
}

std::vector<TableCell> rowOf(const TimeToTarget &row, Target::Kind kind) {
    std::vector<TableCell> cells = {
        TableCell::ofText(row.cell),
        TableCell::ofNumber(row.seconds),
        TableCell::ofNumber(row.fastest),
        TableCell::ofNumber(row.slowest),
        TableCell::ofText(QStringLiteral("%1 of %2").arg(row.reached).arg(row.repeats.size())),
        TableCell::ofNumber(row.speedUp ? std::optional<double>(row.speedUp->factor) : std::nullopt),
        bestCell(row, kind),
        TableCell::ofText(row.how)};
    for (TableCell &cell : cells)
        cell.hint = qs(row.how);
    return cells;
}

QString methodOfCell(const Cell &cell) {
    return cell.runs.empty() || !cell.runs.front().config ? QString() : qs(toString(cell.runs.front().config->method));
}

} // namespace

TargetModel::TargetModel(QObject *parent) : CellTableModel(parent) {}

void TargetModel::setCells(std::vector<Cell> cells) {
    m_cells = std::move(cells);
    refresh();
}

void TargetModel::setTarget(const Target &target) {
    m_target = target;
    refresh();
}

void TargetModel::refresh() {
    std::vector<TimeToTarget> times = timesToTarget(m_cells, m_target);
    if (times == m_times)
        return;
    m_times = std::move(times);
    CellTable shown;
    shown.heads = {"Run",     "Time (s)",     "Fastest (s)", "Slowest (s)",
                   "Reached", "Speed-up (×)", "Best",        "How it is known"};
    for (std::size_t i = 0; i < m_times.size(); ++i) {
        shown.rows.push_back(rowOf(m_times[i], m_target.kind));
        shown.methods.append(methodOfCell(m_cells[i]));
    }
    setTable(std::move(shown));
}

std::optional<Target> TargetModel::suggestion(Target::Kind kind) const {
    return suggestedTarget(m_cells, kind);
}

} // namespace lockstep::core
