// SPDX-License-Identifier: MIT
// Pointer and keys of a LineChart: crosshair, zoom, pan.
#include <QChart>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QRubberBand>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/line_chart.h"

namespace lockstep::ui {
namespace {
constexpr double clickReach = 4;  ///< pixels the pointer may move in a click
constexpr double bandHeight = 12; ///< a flatter band zooms x alone

/// What a band from one corner to the other covers of the plot; all of its height when it is flat.
QRectF bandOf(const QPointF &from, const QPointF &to, const QRectF &area) {
    const auto in = [&area](const QPointF &p) {
        return QPointF(std::clamp(p.x(), area.left(), area.right()), std::clamp(p.y(), area.top(), area.bottom()));
    };
    const QRectF band = QRectF(in(from), in(to)).normalized();
    return band.height() < bandHeight ? QRectF(band.left(), area.top(), band.width(), area.height()) : band;
}
} // namespace

void LineChart::setCrosshair(std::optional<double> x) {
    if (x == m_crosshair)
        return;
    m_crosshair = x;
    viewport()->update();
}

void LineChart::moveCrosshair(std::optional<double> x) {
    if (x == m_crosshair)
        return;
    setCrosshair(x);
    Q_EMIT crosshairMoved(x);
}

void LineChart::changeView(std::optional<std::pair<double, double>> x, std::optional<std::pair<double, double>> y) {
    if (x) {
        const auto [low, high] = [this] {
            auto view = std::exchange(m_viewX, std::nullopt);
            const auto all = wholeX();
            m_viewX = view;
            return all;
        }();
        const double least = std::max((high - low) * 1e-7, std::abs(high) * 1e-13);
        if (x->second - x->first < least)
            return;
        if (x->first <= low && x->second >= high)
            x.reset();
    }
    m_viewX = x;
    m_viewY = y;
    rebuild();
}

void LineChart::zoomX(double from, double to) {
    changeView(std::pair(from, to), m_viewY);
}

void LineChart::zoomBy(double factor, double x) {
    changeView(std::pair(x - (x - m_xFrom) * factor, x + (m_xTo - x) * factor), m_viewY);
}

void LineChart::panBy(double share) {
    const double by = (m_xTo - m_xFrom) * share;
    changeView(std::pair(m_xFrom + by, m_xTo + by), m_viewY);
}

void LineChart::showAll() {
    changeView({}, {});
}

QString LineChart::lineAt(const QPointF &position) const {
    QString best;
    double nearest = INFINITY;
    for (qsizetype i = 0; i < m_lines.size(); ++i) {
        const auto found = m_drawn[std::size_t(i)].curve->nearest(xAt(position.x()));
        if (m_lines[i].faint || !found || !std::isfinite(found->y()))
            continue;
        const QPointF away = toPlot(*found) - position;
        if (const double far = std::hypot(away.x(), away.y()); far < nearest) {
            nearest = far;
            best = m_lines[i].key;
        }
    }
    return best;
}

bool LineChart::viewportEvent(QEvent *event) {
    if (event->type() != QEvent::ToolTip)
        return QChartView::viewportEvent(event);
    const auto *help = static_cast<QHelpEvent *>(event);
    if (const ChartMark *mark = markAt(help->pos()))
        QToolTip::showText(help->globalPos(), mark->text, this);
    else
        QToolTip::hideText();
    return true;
}

void LineChart::mousePressEvent(QMouseEvent *event) {
    const bool pan = event->button() == Qt::MiddleButton ||
                     (event->button() == Qt::LeftButton && event->modifiers() & Qt::ShiftModifier);
    if ((event->button() != Qt::LeftButton && !pan) || isEmpty())
        return event->ignore();
    m_drag = Drag{event->position(), pan, false, m_xFrom, m_xTo, m_yFrom, m_yTo};
    event->accept();
}

void LineChart::mouseMoveEvent(QMouseEvent *event) {
    const QRectF area = chart()->plotArea();
    if (m_drag)
        takeDrag(event->position());
    if (!m_drag || !m_drag->pan)
        moveCrosshair(area.contains(event->position()) ? std::optional(xAt(event->position().x())) : std::nullopt);
}

void LineChart::takeDrag(const QPointF &to) {
    const QRectF area = chart()->plotArea();
    const QPointF by = to - m_drag->from;
    m_drag->moved = m_drag->moved || std::abs(by.x()) > clickReach || std::abs(by.y()) > clickReach;
    if (!m_drag->moved)
        return;
    if (m_drag->pan) {
        const double x = -by.x() / area.width() * (m_drag->xTo - m_drag->xFrom);
        auto y = m_viewY;
        if (y) {
            const double up = by.y() / area.height() * (m_drag->yTo - m_drag->yFrom);
            y = {m_drag->yFrom + up, m_drag->yTo + up};
        }
        return changeView(std::pair(m_drag->xFrom + x, m_drag->xTo + x), y);
    }
    m_band->setGeometry(bandOf(m_drag->from, to, area).toRect());
    m_band->show();
}

void LineChart::mouseReleaseEvent(QMouseEvent *event) {
    if (!m_drag)
        return event->ignore();
    const Drag drag = *std::exchange(m_drag, std::nullopt);
    m_band->hide();
    const QRectF area = chart()->plotArea();
    if (drag.moved && !drag.pan) {
        const QRectF band = bandOf(drag.from, event->position(), area);
        if (band.width() <= clickReach)
            return;
        std::optional<std::pair<double, double>> y;
        if (band.height() < area.height()) {
            const auto valueAt = [&](double at) {
                return m_yFrom + (area.bottom() - at) / area.height() * (m_yTo - m_yFrom);
            };
            y = {valueAt(band.bottom()), valueAt(band.top())};
        }
        changeView(std::pair(xAt(band.left()), xAt(band.right())), y);
    } else if (!drag.moved) {
        if (const ChartMark *mark = markAt(event->position()))
            Q_EMIT markChosen(mark->runId, mark->wallUs);
        else if (area.contains(event->position()))
            Q_EMIT placeChosen(xAt(event->position().x()), lineAt(event->position()));
    }
}

void LineChart::mouseDoubleClickEvent(QMouseEvent *event) {
    m_drag.reset();
    if (event->button() == Qt::LeftButton)
        showAll();
}

void LineChart::wheelEvent(QWheelEvent *event) {
    const QPoint turned = event->angleDelta();
    const double steps = double(turned.y() ? turned.y() : turned.x()) / 120;
    if (isEmpty() || steps == 0)
        return event->ignore();
    event->accept();
    const QRectF area = chart()->plotArea();
    const double factor = std::pow(1.25, -steps);
    if (event->modifiers() & (Qt::ShiftModifier | Qt::ControlModifier)) { // y
        const double at =
            m_yFrom + std::clamp((area.bottom() - event->position().y()) / area.height(), 0.0, 1.0) * (m_yTo - m_yFrom);
        return changeView(m_viewX, std::pair(at - (at - m_yFrom) * factor, at + (m_yTo - at) * factor));
    }
    zoomBy(factor, xAt(std::clamp(event->position().x(), area.left(), area.right())));
}

void LineChart::keyPressEvent(QKeyEvent *event) {
    const double column = (m_xTo - m_xFrom) / std::max(1.0, chart()->plotArea().width());
    const bool far = event->modifiers() & Qt::ControlModifier, shifted = event->modifiers() & Qt::ShiftModifier;
    const auto step = [&](int direction) {
        if (shifted)
            return panBy(direction * (far ? 0.5 : 0.1));
        const double from = m_crosshair.value_or(direction > 0 ? m_xFrom : m_xTo);
        moveCrosshair(std::clamp(from + direction * column * (far ? 20 : 2), m_xFrom, m_xTo));
    };
    const double middle = m_crosshair.value_or((m_xFrom + m_xTo) / 2);
    switch (event->key()) {
    case Qt::Key_Left:
        return step(-1);
    case Qt::Key_Right:
        return step(1);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoomBy(0.8, middle);
    case Qt::Key_Minus:
        return zoomBy(1.25, middle);
    case Qt::Key_Home:
    case Qt::Key_0:
        return showAll();
    case Qt::Key_Escape:
        return moveCrosshair(std::nullopt);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_crosshair)
            Q_EMIT placeChosen(*m_crosshair, lineAt(toPlot({*m_crosshair, 1})));
        return;
    default:
        event->ignore();
    }
}

void LineChart::leaveEvent(QEvent *event) {
    if (!m_drag)
        moveCrosshair(std::nullopt);
    QChartView::leaveEvent(event);
}

void LineChart::focusInEvent(QFocusEvent *event) {
    QChartView::focusInEvent(event);
    viewport()->update();
}

void LineChart::focusOutEvent(QFocusEvent *event) {
    QChartView::focusOutEvent(event);
    viewport()->update();
}

} // namespace lockstep::ui
