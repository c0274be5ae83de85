// SPDX-License-Identifier: MIT
#include "app/ui/charts/line_input.h"

#include <QChart>
#include <QMouseEvent>
#include <QRubberBand>

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

constexpr double clickReach = 4;  ///< pixels the pointer may move in a click
constexpr double bandHeight = 12; ///< a flatter band zooms x alone
constexpr double hoverReach = 10; ///< pixels from a line in which the pointer is on it

QString lineKeyOf(const LineData *line) {
    return line ? line->key : QString();
}

/// The part of the plot that a selection band covers; the full height if the band is flat.
QRectF bandOf(const QPointF &from, const QPointF &to, const QRectF &area) {
    const auto in = [&area](const QPointF &p) {
        return QPointF(std::clamp(p.x(), area.left(), area.right()), std::clamp(p.y(), area.top(), area.bottom()));
    };
    const QRectF band = QRectF(in(from), in(to)).normalized();
    return band.height() < bandHeight ? QRectF(band.left(), area.top(), band.width(), area.height()) : band;
}

} // namespace

LineInput::LineInput(const LineContent &content, const QChart &chart, QWidget *view)
    : QObject(view), m_content(content), m_chart(chart), m_view(view),
      m_band(new QRubberBand(QRubberBand::Rectangle, view)) {}

QRectF LineInput::plot() const {
    return m_chart.plotArea();
}

double LineInput::xAt(const QPointF &position) const {
    return m_content.scale.xAt(position.x(), plot());
}

void LineInput::setCrosshair(std::optional<double> x) {
    if (x == m_crosshair)
        return;
    m_crosshair = x;
    m_view->update();
}

void LineInput::moveCrosshair(std::optional<double> x) {
    if (x == m_crosshair)
        return;
    setCrosshair(x);
    Q_EMIT crosshairMoved(x);
}

const LineData *LineInput::lineAt(const QPointF &position, double reach) const {
    const DrawnLines &lines = m_content.lines;
    const LineData *best = nullptr;
    double nearest = reach;
    for (qsizetype i = 0; i < lines.lines().size(); ++i) {
        const auto found = lines.curve(i).nearest(xAt(position));
        if (lines.lines()[i].faint || !found || !std::isfinite(found->y()))
            continue;
        const QPointF away = m_content.scale.placeOf(*found, plot()) - position;
        if (const double far = std::hypot(away.x(), away.y()); far < nearest) {
            nearest = far;
            best = &lines.lines()[i];
        }
    }
    return best;
}

void LineInput::pointAtRun(const LineData *line) {
    const bool ofRun = line && !line->runId.isEmpty();
    Q_EMIT runPointed(ofRun ? line->runId : QString(), ofRun ? line->name : QString());
}

const ChartMark *LineInput::markAt(const QPointF &position) const {
    const QRectF area = plot();
    if (position.y() < area.bottom() - 2 * markSize || position.y() > area.bottom() + 4)
        return nullptr;
    const ChartMark *best = nullptr;
    double nearest = markSize;
    for (const ChartMark &mark : m_content.marks)
        if (const double away = std::abs(m_content.scale.placeOf({mark.x, 1}, area).x() - position.x());
            away < nearest) {
            nearest = away;
            best = &mark;
        }
    return best;
}

void LineInput::press(QMouseEvent *event) {
    const bool pan = event->button() == Qt::MiddleButton ||
                     (event->button() == Qt::LeftButton && event->modifiers() & Qt::ShiftModifier);
    if ((event->button() != Qt::LeftButton && !pan) || m_content.lines.isEmpty())
        return event->ignore();
    const LineScale &seen = m_content.scale;
    m_drag = Drag{event->position(), pan, false, {seen.xFrom(), seen.xTo()}, {seen.yFrom(), seen.yTo()}};
    event->accept();
}

void LineInput::move(const QMouseEvent *event) {
    if (m_drag)
        drag(event->position());
    if (!m_drag || !m_drag->pan)
        moveCrosshair(plot().contains(event->position()) ? std::optional(xAt(event->position())) : std::nullopt);
    if (!m_drag)
        pointAtRun(plot().contains(event->position()) ? lineAt(event->position(), hoverReach) : nullptr);
}

void LineInput::drag(const QPointF &to) {
    const QPointF by = to - m_drag->from;
    m_drag->moved = m_drag->moved || std::abs(by.x()) > clickReach || std::abs(by.y()) > clickReach;
    if (!m_drag->moved)
        return;
    if (m_drag->pan)
        return panFrom(*m_drag, by);
    m_band->setGeometry(bandOf(m_drag->from, to, plot()).toRect());
    m_band->show();
}

void LineInput::panFrom(const Drag &drag, const QPointF &by) {
    const QRectF area = plot();
    const auto moved = [](const Span &span, double share) {
        const double distance = share * (span.second - span.first);
        return Span(span.first + distance, span.second + distance);
    };
    auto y = m_content.scale.zoomedY();
    if (y)
        y = moved(drag.y, by.y() / area.height());
    Q_EMIT zoomWanted(moved(drag.x, -by.x() / area.width()), y);
}

void LineInput::release(QMouseEvent *event) {
    if (!m_drag)
        return event->ignore();
    const Drag drag = *std::exchange(m_drag, std::nullopt);
    m_band->hide();
    if (drag.moved && !drag.pan)
        return zoomToBand(bandOf(drag.from, event->position(), plot()));
    if (drag.moved)
        return;
    if (const ChartMark *mark = markAt(event->position()))
        Q_EMIT markChosen(mark->runId, mark->wallUs);
    else if (plot().contains(event->position()))
        Q_EMIT placeChosen(xAt(event->position()), lineKeyOf(lineAt(event->position())));
}

void LineInput::zoomToBand(const QRectF &band) {
    if (band.width() <= clickReach)
        return;
    const QRectF area = plot();
    std::optional<Span> y;
    if (band.height() < area.height())
        y = {m_content.scale.yAt(band.bottom(), area), m_content.scale.yAt(band.top(), area)};
    Q_EMIT zoomWanted(Span(xAt(band.topLeft()), xAt(band.topRight())), y);
}

void LineInput::doubleClick(const QMouseEvent *event) {
    m_drag.reset();
    if (event->button() == Qt::LeftButton)
        Q_EMIT zoomWanted({}, {});
}

void LineInput::zoomBy(double factor, double x) {
    Q_EMIT zoomWanted(m_content.scale.xZoomedBy(factor, x), m_content.scale.zoomedY());
}

void LineInput::wheel(QWheelEvent *event) {
    const QPoint turned = event->angleDelta();
    const double steps = double(turned.y() ? turned.y() : turned.x()) / 120;
    if (m_content.lines.isEmpty() || steps == 0)
        return event->ignore();
    event->accept();
    const QRectF area = plot();
    const double factor = std::pow(1.25, -steps);
    const QPointF at(std::clamp(event->position().x(), area.left(), area.right()),
                     std::clamp(event->position().y(), area.top(), area.bottom()));
    if (event->modifiers() & (Qt::ShiftModifier | Qt::ControlModifier)) // y
        Q_EMIT zoomWanted(m_content.scale.zoomedX(),
                          m_content.scale.yZoomedBy(factor, m_content.scale.yAt(at.y(), area)));
    else
        zoomBy(factor, xAt(at));
}

/// Moves the crosshair, with Shift what is seen; with Ctrl further.
void LineInput::stepBy(int direction, Qt::KeyboardModifiers keys) {
    const double from = m_content.scale.xFrom(), to = m_content.scale.xTo();
    const bool far = keys & Qt::ControlModifier;
    if (keys & Qt::ShiftModifier) {
        const double by = (to - from) * direction * (far ? 0.5 : 0.1);
        Q_EMIT zoomWanted(Span(from + by, to + by), m_content.scale.zoomedY());
        return;
    }
    const double column = (to - from) / std::max(1.0, plot().width());
    const double begin = m_crosshair.value_or(direction > 0 ? from : to);
    moveCrosshair(std::clamp(begin + direction * column * (far ? 20 : 2), from, to));
}

void LineInput::key(QKeyEvent *event) {
    const double middle = m_crosshair.value_or((m_content.scale.xFrom() + m_content.scale.xTo()) / 2);
    switch (event->key()) {
    case Qt::Key_Left:
        return stepBy(-1, event->modifiers());
    case Qt::Key_Right:
        return stepBy(1, event->modifiers());
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoomBy(0.8, middle);
    case Qt::Key_Minus:
        return zoomBy(1.25, middle);
    case Qt::Key_Home:
    case Qt::Key_0:
        Q_EMIT zoomWanted({}, {});
        return;
    case Qt::Key_Escape:
        return moveCrosshair(std::nullopt);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_crosshair)
            Q_EMIT placeChosen(*m_crosshair, lineKeyOf(lineAt(m_content.scale.placeOf({*m_crosshair, 1}, plot()))));
        return;
    default:
        event->ignore();
    }
}

void LineInput::leave() {
    pointAtRun(nullptr);
    if (!m_drag)
        moveCrosshair(std::nullopt);
}

} // namespace lockstep::ui

#include "moc_line_input.cpp"
