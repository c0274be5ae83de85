#include "models/curve_model.h"

#include <algorithm>

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

const char *const curveHeads[CurveModel::ColumnCount] = {"Run", "Method", "Points", "Loss", "State"};

} // namespace

CurveModel::CurveModel(RunSet *runs, QObject *parent) : QAbstractTableModel(parent), m_runs(runs) {
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        forgetGone();
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, [this](int run, RunStore::Changes what) {
        if (what & (RunStore::Changes(RunStore::Loss) | RunStore::State | RunStore::Record | RunStore::Epochs))
            Q_EMIT dataChanged(index(run, 0), index(run, ColumnCount - 1));
    });
}

void CurveModel::forgetGone() {
    std::erase_if(m_kept, [this](const auto &kept) {
        const auto &stores = m_runs->stores();
        return std::find(stores.begin(), stores.end(), kept.first) == stores.end();
    });
}

CurveModel::Kept &CurveModel::keep(int row, XAxis axis) {
    const LossSeries &loss = m_runs->at(row)->loss();
    Kept &kept = m_kept[m_runs->at(row)];
    if (!kept.curve || kept.axis != axis || kept.generation != loss.generation()) {
        kept = {axis, loss.generation(), std::make_shared<Curve>(), nullptr, 0, Smoother()};
    }
    const std::vector<LossPoint> &points = loss.points();
    for (std::size_t i = std::size_t(kept.curve->size()); i < points.size(); ++i)
        kept.curve->append(place(points[i], axis), points[i].loss);
    return kept;
}

std::shared_ptr<const Curve> CurveModel::curve(int row, XAxis axis) {
    return keep(row, axis).curve;
}

std::shared_ptr<const Curve> CurveModel::smoothed(int row, XAxis axis, double weight) {
    Kept &kept = keep(row, axis);
    if (!(weight > 0) || kept.curve->size() < 3)
        return kept.curve;
    const double span = kept.curve->last().x() - kept.curve->first().x(), reach = weight / (1 - weight) * span / 400;
    // A growing run is looked at again only when its span has grown by a quarter.
    if (!kept.smoothed || kept.weight != weight || reach > kept.smoother.reach() * 1.25) {
        kept.smoothed = std::make_shared<Curve>();
        kept.smoother = Smoother(reach);
        kept.weight = weight;
    }
    kept.smoother.advance(*kept.curve, *kept.smoothed);
    return kept.smoothed;
}

std::optional<double> CurveModel::placeOf(int row, XAxis axis, std::int64_t wallUs) const {
    const std::vector<LossPoint> &points = m_runs->at(row)->loss().points();
    if (axis == XAxis::Wall)
        return double(wallUs) * 1e-6;
    if (points.empty())
        return std::nullopt;
    const auto next = std::lower_bound(points.begin(), points.end(), wallUs,
                                       [](const LossPoint &p, std::int64_t wall) { return p.wallUs < wall; });
    if (next == points.end())
        return place(points.back(), axis);
    if (next == points.begin())
        return place(points.front(), axis);
    const LossPoint &before = *(next - 1);
    const double share = double(wallUs - before.wallUs) / double(next->wallUs - before.wallUs);
    return place(before, axis) + share * (place(*next, axis) - place(before, axis));
}

std::optional<std::int64_t> CurveModel::wallUsAt(int row, XAxis axis, double x) const {
    const std::vector<LossPoint> &points = m_runs->at(row)->loss().points();
    if (axis == XAxis::Wall)
        return std::int64_t(x * 1e6);
    if (points.empty())
        return std::nullopt;
    const auto next = std::lower_bound(points.begin(), points.end(), x,
                                       [axis](const LossPoint &p, double value) { return place(p, axis) < value; });
    if (next == points.end())
        return points.back().wallUs;
    if (next == points.begin())
        return next->wallUs;
    const LossPoint &before = *(next - 1);
    const double width = place(*next, axis) - place(before, axis);
    const double share = width > 0 ? (x - place(before, axis)) / width : 1;
    return before.wallUs + std::int64_t(share * double(next->wallUs - before.wallUs));
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
    TableCell cell;
    switch (index.column()) {
    case Label:
        cell = TableCell::ofText(m_runs->label(index.row()));
        break;
    case Method:
        cell = TableCell::ofText(store->method());
        break;
    case Points:
        cell = TableCell::ofCount(int(points.size()));
        break;
    case LastLoss:
        cell = TableCell::ofNumber(points.empty() ? std::nullopt : std::optional(points.back().loss));
        break;
    case State:
        cell = TableCell::ofText(store->stateSentence());
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
    return columnHead(curveHeads, section, orientation, role);
}

} // namespace lockstep::core
