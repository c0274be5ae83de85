// SPDX-License-Identifier: MIT
#pragma once
#include <QPointF>
#include <QRectF>
#include <QString>

#include <optional>
#include <utility>

#include "app/ui/charts/ticks.h"

namespace lockstep::ui {
class DrawnLines;

enum class XKind { Real, Whole, WallTime, Bytes }; ///< ticks of x; WallTime: Unix seconds; Bytes: x is log2 of them

/// The visible ranges of a LineChart, its ticks, and the position of a value in the plot. A range covers just the data
/// unless it was set or zoomed to. On a log axis, ranges of y are in log10.
class LineScale {
public:
    using Span = std::pair<double, double>; ///< low, high

    // True: something changed, call fit() again.
    bool setXKind(XKind kind);
    bool setXRange(std::optional<double> low, std::optional<double> high);
    bool setLog(bool log);
    void setZeroBased(bool zero) { m_zeroBased = zero; }
    /// Absent: all. False when the span of x is too narrow to tell its ends apart.
    bool zoomTo(const DrawnLines &lines, std::optional<Span> x, std::optional<Span> y);
    void showAllX() { m_zoomX.reset(); }
    /// Forgets what the last fit() showed: the next one does not start from it.
    void forgetFit();

    struct AxisTicks {
        Ticks x, y;
    };
    /// Chooses the ranges and ticks for a plot of that size.
    AxisTicks fit(const DrawnLines &lines, const QSizeF &plot);

    [[nodiscard]] double xFrom() const { return m_xFrom; }
    [[nodiscard]] double xTo() const { return m_xTo; }
    [[nodiscard]] double yFrom() const { return m_yFrom; }
    [[nodiscard]] double yTo() const { return m_yTo; }
    [[nodiscard]] bool isLog() const { return m_log; }
    [[nodiscard]] bool isZoomed() const { return m_zoomX || m_zoomY; }
    [[nodiscard]] std::optional<Span> zoomedX() const { return m_zoomX; }
    [[nodiscard]] std::optional<Span> zoomedY() const { return m_zoomY; }
    /// Below 1 zooms in; `x` stays where it is.
    [[nodiscard]] Span xZoomedBy(double factor, double x) const;
    [[nodiscard]] Span yZoomedBy(double factor, double y) const;

    /// Where a value lies in the plot, and the other way.
    [[nodiscard]] QPointF placeOf(const QPointF &value, const QRectF &plot) const;
    [[nodiscard]] double xAt(double place, const QRectF &plot) const;
    [[nodiscard]] double yAt(double place, const QRectF &plot) const;
    [[nodiscard]] QString xText(double x) const;

private:
    [[nodiscard]] Span wholeX(const DrawnLines &lines) const;
    [[nodiscard]] Ticks xTicks(const Span &x, int wanted) const;
    [[nodiscard]] Ticks yTicks(const DrawnLines &lines, const Span &x, int wanted) const;

    std::optional<double> m_xLow, m_xHigh; ///< shown even before data reaches it
    std::optional<Span> m_zoomX, m_zoomY;
    double m_xFrom = 0, m_xTo = 1, m_yFrom = 0, m_yTo = 1;
    XKind m_xKind = XKind::Real;
    bool m_zeroBased = false, m_log = false;
};

} // namespace lockstep::ui
