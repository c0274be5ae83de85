// SPDX-License-Identifier: MIT
#include "app/ui/charts/line_scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/ui/charts/drawn_lines.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

constexpr double mostEmpty = 0.25; ///< of an axis that rounding its ends may leave without data
constexpr double leastSpan = 0.01; ///< of the values: less would fill the axis with digits, and its height with noise

/// Round ticks around the data. A low chart's few ticks may round its end far up ("4" for data up to 2.1): then more of them, down to
/// half the distance.
Ticks tightTicks(double low, double high, int wanted) {
    const auto emptyOf = [&](const Ticks &ticks) {
        return (low - ticks.low + ticks.high - high) / (ticks.high - ticks.low);
    };
    Ticks best = niceTicks(low, high, wanted, true);
    for (int more = wanted + 1; more <= 2 * wanted && emptyOf(best) > mostEmpty; ++more)
        if (Ticks ticks = niceTicks(low, high, more, true); emptyOf(ticks) < emptyOf(best) - 1e-9)
            best = std::move(ticks);
    return best;
}

} // namespace

bool LineScale::setXKind(XKind kind) {
    return std::exchange(m_xKind, kind) != kind;
}

bool LineScale::setXRange(std::optional<double> low, std::optional<double> high) {
    const bool same = low == m_xLow && high == m_xHigh;
    m_xLow = low;
    m_xHigh = high;
    return !same;
}

bool LineScale::setLog(bool log) {
    if (m_log == log)
        return false;
    m_log = log;
    m_zoomY.reset();
    return true;
}

bool LineScale::zoomTo(const DrawnLines &lines, std::optional<Span> x, std::optional<Span> y) {
    if (x) {
        const auto [low, high] = wholeX(lines);
        const double least = std::max((high - low) * 1e-7, std::abs(high) * 1e-13);
        if (x->second - x->first < least)
            return false;
        if (x->first <= low && x->second >= high)
            x.reset();
    }
    m_zoomX = x;
    m_zoomY = y;
    return true;
}

void LineScale::forgetFit() {
    m_xFrom = m_yFrom = 0;
    m_xTo = m_yTo = 1;
}

LineScale::Span LineScale::wholeX(const DrawnLines &lines) const {
    const auto data = lines.xSpan();
    if (!data)
        return {m_xLow.value_or(0), m_xHigh.value_or(1)};
    const double low = m_xLow.value_or(data->first), high = data->second;
    if (m_xHigh)
        return {low, std::max(*m_xHigh, high)};
    // A growing line moves the axis now and then, not at every point: axes cost more than curves.
    const double span = high - low;
    if (low == m_xFrom && high <= m_xTo && m_xTo <= high + 0.03 * span)
        return {low, m_xTo};
    return {low,
            low == m_xFrom && high > m_xTo && m_xTo > low && high < m_xTo + 0.1 * span ? high + 0.02 * span : high};
}

Ticks LineScale::xTicks(const Span &x, int wanted) const {
    switch (m_xKind) {
    case XKind::Whole:
        return wholeTicks(x.first, x.second, wanted);
    case XKind::WallTime:
        return timeTicks(x.first, x.second, wanted);
    case XKind::Bytes:
        return byteTicks(x.first, x.second, wanted);
    case XKind::Real:
        break;
    }
    return niceTicks(x.first, x.second, wanted, false);
}

Ticks LineScale::yTicks(const DrawnLines &lines, const Span &x, int wanted) const {
    if (m_zoomY)
        return m_log ? logTicks(std::pow(10, m_zoomY->first), std::pow(10, m_zoomY->second), wanted)
                     : niceTicks(m_zoomY->first, m_zoomY->second, wanted, false);
    const auto data = lines.extremes(x.first, x.second);
    double low = data ? data->low : m_log ? 0.1 : 0;
    double high = data ? data->high : 1;
    if (m_log && low <= 0) // what is not above zero has no place on a log axis
        low = high > 0 ? high * 1e-4 : 0.1;
    if (m_zeroBased && !m_log)
        low = 0;
    const double least = leastSpan * std::max(std::abs(low), std::abs(high));
    if (!m_log && !m_zoomX && high > low && high - low < least) {
        const double middle = low + (high - low) / 2;
        low = middle - least / 2;
        high = middle + least / 2;
    }
    return m_log ? logTicks(low * 0.9, high * 1.1, wanted) : tightTicks(low, high, wanted);
}

LineScale::AxisTicks LineScale::fit(const DrawnLines &lines, const QSizeF &plot) {
    const Span seen = m_zoomX ? *m_zoomX : wholeX(lines);
    AxisTicks ticks{xTicks(seen, std::clamp(int(plot.width() / 84), 3, 8)),
                    yTicks(lines, seen, std::clamp(int(plot.height() / 48), 2, 6))};
    m_xFrom = ticks.x.low, m_xTo = ticks.x.high, m_yFrom = ticks.y.low, m_yTo = ticks.y.high;
    return ticks;
}

LineScale::Span LineScale::xZoomedBy(double factor, double x) const {
    return {x - (x - m_xFrom) * factor, x + (m_xTo - x) * factor};
}

LineScale::Span LineScale::yZoomedBy(double factor, double y) const {
    return {y - (y - m_yFrom) * factor, y + (m_yTo - y) * factor};
}

QPointF LineScale::placeOf(const QPointF &value, const QRectF &plot) const {
    const double y = m_log ? std::log10(std::max(value.y(), 1e-300)) : value.y();
    return {plot.left() + (value.x() - m_xFrom) / (m_xTo - m_xFrom) * plot.width(),
            plot.bottom() - (y - m_yFrom) / (m_yTo - m_yFrom) * plot.height()};
}

double LineScale::xAt(double place, const QRectF &plot) const {
    return m_xFrom + (place - plot.left()) / std::max(1.0, plot.width()) * (m_xTo - m_xFrom);
}

double LineScale::yAt(double place, const QRectF &plot) const {
    return m_yFrom + (plot.bottom() - place) / std::max(1.0, plot.height()) * (m_yTo - m_yFrom);
}

QString LineScale::xText(double x) const {
    if (m_xKind == XKind::WallTime)
        return core::clockTime(std::int64_t(x * 1e6)).left(12);
    if (m_xKind == XKind::Bytes)
        return core::messageSize(std::exp2(x));
    return x == std::floor(x) && std::abs(x) < 1e15 ? core::inGroups(QString::number(x, 'f', 0))
                                                    : core::significant(x, 4);
}

} // namespace lockstep::ui
