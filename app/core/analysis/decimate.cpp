#include "analysis/decimate.h"

#include <algorithm>
#include <cmath>

namespace lockstep::core {
namespace {

struct Column {
    QPointF low, high;
    bool any = false;

    void add(const QPointF &point) {
        if (!any || point.y() < low.y())
            low = point;
        if (!any || point.y() > high.y())
            high = point;
        any = true;
    }
    void emitInto(QList<QPointF> &out) const {
        if (!any)
            return;
        const QPointF &first = low.x() <= high.x() ? low : high;
        const QPointF &second = low.x() <= high.x() ? high : low;
        out.append(first);
        if (first != second)
            out.append(second);
    }
};

} // namespace

QList<QPointF> decimateMinMax(const QList<QPointF> &points, int columns) {
    QList<QPointF> finite;
    finite.reserve(points.size());
    for (const QPointF &point : points)
        if (std::isfinite(point.y()) && std::isfinite(point.x()))
            finite.append(point);
    if (columns < 1 || finite.size() <= 2 * columns)
        return finite;
    const double from = finite.first().x(), width = (finite.last().x() - from) / columns;
    QList<QPointF> out;
    Column column;
    int at = 0;
    for (const QPointF &point : finite) {
        const int here = width > 0 ? std::clamp(int((point.x() - from) / width), 0, columns - 1) : 0;
        if (here != at) {
            column.emitInto(out);
            column = {};
            at = here;
        }
        column.add(point);
    }
    column.emitInto(out);
    return out;
}

QList<QPointF> smooth(const QList<QPointF> &points, double weight) {
    if (weight <= 0)
        return points;
    weight = std::min(weight, 0.999);
    QList<QPointF> out;
    out.reserve(points.size());
    double average = 0, bias = 1;
    for (const QPointF &point : points) {
        if (!std::isfinite(point.y()))
            continue;
        average = weight * average + (1 - weight) * point.y();
        bias *= weight;
        out.append({point.x(), average / (1 - bias)});
    }
    return out;
}

} // namespace lockstep::core
