#include "app/ui/charts/smoothing.h"

#include <cmath>

namespace lockstep::ui {

QList<QPointF> smoothedAlongX(const QList<QPointF> &points, double reach) {
    if (!(reach > 0))
        return points;
    QList<QPointF> out;
    out.reserve(points.size());
    double sum = 0, weight = 0, before = 0;
    for (const QPointF &p : points) {
        if (!std::isfinite(p.y()))
            continue;
        const double kept = weight > 0 ? std::exp(-(p.x() - before) / reach) : 0;
        sum = sum * kept + p.y();
        weight = weight * kept + 1;
        before = p.x();
        out.append({p.x(), sum / weight});
    }
    return out;
}

} // namespace lockstep::ui
