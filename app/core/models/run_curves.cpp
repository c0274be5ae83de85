// SPDX-License-Identifier: MIT
#include "models/run_curves.h"

#include <algorithm>

namespace lockstep::core {
namespace {

double place(const LossPoint &point, RunCurves::XAxis axis) {
    switch (axis) {
    case RunCurves::XAxis::Step:
        return double(point.step);
    case RunCurves::XAxis::Epoch:
        return point.epoch;
    case RunCurves::XAxis::Wall:
        return double(point.wallUs) * 1e-6;
    case RunCurves::XAxis::RunTime:
        return point.runS;
    }
    return 0;
}

} // namespace

RunCurves::RunCurves(RunSet *runs, QObject *parent) : QObject(parent), m_runs(runs) {
    connect(runs, &RunSet::reset, this, &RunCurves::forgetGone);
}

void RunCurves::forgetGone() {
    std::erase_if(m_kept, [this](const auto &kept) {
        const auto &stores = m_runs->stores();
        return std::find(stores.begin(), stores.end(), kept.first) == stores.end();
    });
}

void RunCurves::setMetric(const std::string &name) {
    if (name == m_metric)
        return;
    m_metric = name;
    m_kept.clear();
}

const LossSeries &RunCurves::seriesOf(int run) const {
    static const LossSeries none;
    const RunStore *store = m_runs->at(run);
    if (m_metric.empty())
        return store->losses().all();
    const LossSeries *series = store->metrics().series(m_metric);
    return series ? *series : none;
}

RunCurves::Kept &RunCurves::keep(int run, XAxis axis) {
    const LossSeries &loss = seriesOf(run);
    Kept &kept = m_kept[m_runs->at(run)];
    if (!kept.curve || kept.axis != axis || kept.generation != loss.generation()) {
        kept = {axis, loss.generation(), std::make_shared<Curve>(), nullptr, 0, Smoother()};
    }
    const std::vector<LossPoint> &points = loss.points();
    for (std::size_t i = std::size_t(kept.curve->size()); i < points.size(); ++i)
        kept.curve->append(place(points[i], axis), points[i].loss);
    return kept;
}

std::shared_ptr<const Curve> RunCurves::curve(int run, XAxis axis) {
    return keep(run, axis).curve;
}

std::shared_ptr<const Curve> RunCurves::smoothed(int run, XAxis axis, double weight) {
    Kept &kept = keep(run, axis);
    if (!(weight > 0) || kept.curve->size() < 3)
        return kept.curve;
    const double span = kept.curve->last().x() - kept.curve->first().x(), reach = weight / (1 - weight) * span / 400;
    // A growing run is examined again only when its span has grown by a quarter.
    if (!kept.smoothed || kept.weight != weight || reach > kept.smoother.reach() * 1.25) {
        kept.smoothed = std::make_shared<Curve>();
        kept.smoother = Smoother(reach);
        kept.weight = weight;
    }
    kept.smoother.advance(*kept.curve, *kept.smoothed);
    return kept.smoothed;
}

std::optional<double> RunCurves::placeOf(int run, XAxis axis, std::int64_t wallUs) const {
    const std::vector<LossPoint> &points = m_runs->at(run)->losses().all().points();
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

std::optional<std::int64_t> RunCurves::wallUsAt(int run, XAxis axis, double x) const {
    const std::vector<LossPoint> &points = m_runs->at(run)->losses().all().points();
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

/// An epoch's exact mean is placed at the epoch's end: at its last window.
QList<QPointF> RunCurves::epochPoints(int run, XAxis axis) const {
    QList<QPointF> out;
    const RunStore *store = m_runs->at(run);
    const std::vector<LossPoint> &points = store->losses().all().points();
    std::size_t at = 0;
    for (const MergedEpoch &epoch : store->epochs().merged()) {
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

} // namespace lockstep::core
