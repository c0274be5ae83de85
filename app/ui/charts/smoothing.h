#pragma once
#include <QList>
#include <QPointF>

namespace lockstep::ui {

/// Exponential moving average along x: what lies `reach` behind counts 1/e. By distance and not by point, so that runs
/// that report more often are not smoothed less and curves stay comparable. Non-finite points are passed over.
[[nodiscard]] QList<QPointF> smoothedAlongX(const QList<QPointF> &points, double reach);

} // namespace lockstep::ui
