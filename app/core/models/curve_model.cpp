#include "models/curve_model.h"

#include "models/cells.h"
#include "models/column_head.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

double place(const LossPoint &point, CurveModel::XAxis axis) {
    switch (axis) {
    case CurveModel::XAxis::Step:
        return double(point.step);
    case CurveModel::XAxis::Epoch:
        return point.epoch;
    case CurveModel::XAxis::Wall:
        return double(point.wallUs) * 1e-6;
    case CurveModel::XAxis::RunTime:
        return point.runS;
    }
    return 0;
}

const char *const heads[CurveModel::ColumnCount] = {"Run", "Method", "Points", "Loss", "State"};

} // namespace

CurveModel::CurveModel(RunSet *runs, QObject *parent) : QAbstractTableModel(parent), m_runs(runs) {
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] { endResetModel(); });
    connect(runs, &RunSet::changed, this, [this](int run, RunStore::Changes what) {
        if (what & (RunStore::Changes(RunStore::Loss) | RunStore::State | RunStore::Record | RunStore::Epochs))
            Q_EMIT dataChanged(index(run, 0), index(run, ColumnCount - 1));
    });
}

QList<QPointF> CurveModel::points(int row, XAxis axis) const {
    QList<QPointF> out;
    const std::vector<LossPoint> &points = m_runs->at(row)->loss().points();
    out.reserve(qsizetype(points.size()));
    for (const LossPoint &point : points)
        out.append({place(point, axis), point.loss});
    return out;
}

/// An epoch's exact mean stands where the epoch ended: at its last window.
QList<QPointF> CurveModel::epochPoints(int row, XAxis axis) const {
    QList<QPointF> out;
    const RunStore *store = m_runs->at(row);
    const std::vector<LossPoint> &points = store->loss().points();
    std::size_t at = 0;
    for (const MergedEpoch &epoch : store->epochs()) {
        if (!epoch.loss)
            continue;
        if (axis == XAxis::Epoch) {
            out.append({double(epoch.epoch), *epoch.loss});
            continue;
        }
        while (at + 1 < points.size() && points[at].epoch < double(epoch.epoch) - 1e-9)
            ++at;
        if (at < points.size())
            out.append({place(points[at], axis), *epoch.loss});
    }
    return out;
}

int CurveModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : m_runs->count();
}
int CurveModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant CurveModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const RunStore *store = m_runs->at(index.row());
    const std::vector<LossPoint> &points = store->loss().points();
    Cell cell;
    switch (index.column()) {
    case Label:
        cell = Cell::ofText(m_runs->label(index.row()));
        break;
    case Method:
        cell = Cell::ofText(store->method());
        break;
    case Points:
        cell = Cell::ofCount(int(points.size()));
        break;
    case LastLoss:
        cell = Cell::ofNumber(points.empty() ? std::nullopt : std::optional(points.back().loss));
        break;
    case State:
        cell = Cell::ofText(store->stateSentence());
        break;
    default:
        break;
    }
    switch (role) {
    case Qt::DisplayRole:
        return cell.text;
    case ValueRole:
        return cell.value;
    case Qt::TextAlignmentRole:
        return int((cell.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case MethodRole:
        return store->method();
    case RunIdRole:
        return store->runId();
    case StateRole:
        return store->state() ? qs(toString(*store->state())) : QString();
    case Qt::ToolTipRole:
        return store->linkSentence().isEmpty() ? store->stateSentence() : store->linkSentence();
    default:
        return {};
    }
}

QVariant CurveModel::headerData(int section, Qt::Orientation orientation, int role) const {
    return columnHead(heads, section, orientation, role);
}

} // namespace lockstep::core
