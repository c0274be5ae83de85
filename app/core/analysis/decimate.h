#pragma once
#include <QList>
#include <QPointF>

namespace lockstep::core {

/// At most two points a column over the x range: each column's minimum and maximum, in x order. Points sorted by x;
/// non-finite y are left out.
[[nodiscard]] QList<QPointF> decimateMinMax(const QList<QPointF> &points, int columns);

/// Exponential moving average with bias correction, weight 0 (as it is) to below 1.
[[nodiscard]] QList<QPointF> smooth(const QList<QPointF> &points, double weight);

} // namespace lockstep::core
