#include "models/target_model.h"

#include <cmath>

#include "models/cells.h"
#include "models/column_head.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

const char *const heads[TargetModel::ColumnCount] = {"Run",     "Time (s)",     "Fastest (s)", "Slowest (s)",
                                                     "Reached", "Speed-up (×)", "Best",        "How it is known"};

TableCell bestCell(const TimeToTarget &row, Target::Kind kind) {
    if (!row.best)
        return TableCell::ofNumber(row.best);
    return TableCell::ofNumber(row.best, kind == Target::Kind::Accuracy
                                             ? QString::number(*row.best * 100, 'f', 2) + QStringLiteral(" %")
                                             : significant(row.best));
}

TableCell cellOf(const TimeToTarget &row, Target::Kind kind, int column) {
    switch (column) {
    case TargetModel::Name:
        return TableCell::ofText(row.cell);
    case TargetModel::Time:
        return TableCell::ofNumber(row.seconds);
    case TargetModel::Fastest:
        return TableCell::ofNumber(row.fastest);
    case TargetModel::Slowest:
        return TableCell::ofNumber(row.slowest);
    case TargetModel::Reached:
        return TableCell::ofText(QStringLiteral("%1 of %2").arg(row.reached).arg(row.repeats.size()));
    case TargetModel::SpeedUpColumn:
        return TableCell::ofNumber(row.speedUp ? std::optional<double>(row.speedUp->factor) : std::nullopt);
    case TargetModel::Best:
        return bestCell(row, kind);
    default:
        return TableCell::ofText(row.how);
    }
}

} // namespace

TargetModel::TargetModel(QObject *parent) : QAbstractTableModel(parent) {}

void TargetModel::setCells(std::vector<Cell> cells) {
    m_cells = std::move(cells);
    refresh();
}

void TargetModel::setTarget(const Target &target) {
    m_target = target;
    refresh();
}

void TargetModel::refresh() {
    std::vector<TimeToTarget> rows = timesToTarget(m_cells, m_target);
    if (rows == m_rows)
        return;
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

std::optional<Target> TargetModel::suggestion(Target::Kind kind) const {
    std::optional<double> worst;
    const bool accuracy = kind == Target::Kind::Accuracy;
    for (const TimeToTarget &cell : timesToTarget(m_cells, {kind, accuracy ? 2.0 : -1.0})) // out of reach: best is told
        for (const TargetHit &hit : cell.repeats)
            if (hit.best)
                worst = !worst ? *hit.best : accuracy ? std::min(*worst, *hit.best) : std::max(*worst, *hit.best);
    if (!worst || !std::isfinite(*worst) || *worst <= 0)
        return std::nullopt;
    if (accuracy)
        return Target{kind, std::floor(*worst * 100) / 100};
    const double digit = std::pow(10, std::floor(std::log10(*worst)) - 1);
    return Target{kind, std::ceil(*worst / digit - 1e-9) * digit};
}

int TargetModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}
int TargetModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant TargetModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const TimeToTarget &row = m_rows[std::size_t(index.row())];
    const TableCell cell = cellOf(row, m_target.kind, index.column());
    switch (role) {
    case Qt::DisplayRole:
        return cell.text;
    case ValueRole:
        return cell.value;
    case Qt::TextAlignmentRole:
        return int((cell.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        return qs(row.how);
    case MethodRole: {
        const auto &runs = m_cells[std::size_t(index.row())].runs;
        return runs.empty() || !runs.front().config ? QVariant() : QVariant(qs(toString(runs.front().config->method)));
    }
    default:
        return {};
    }
}

QVariant TargetModel::headerData(int section, Qt::Orientation orientation, int role) const {
    return columnHead(heads, section, orientation, role);
}

} // namespace lockstep::core
