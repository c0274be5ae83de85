// SPDX-License-Identifier: MIT
// How a LineChart paints itself: axes by Qt Charts into one picture, curves and words over them into another, the
// crosshair over both.
#include <QChart>
#include <QFontMetricsF>
#include <QPainter>
#include <QPaintEvent>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/end_labels.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/theme/theme.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

/// A dense line one pixel wide: Qt's raster engine strokes wider ones through a path, a hundred times as slowly, and a
/// line that goes up and down within each column looks no better for it.
QPen penOf(const LineData &line, bool dense, const Palette &palette) {
    QPen pen(line.faint ? mix(palette.surface, line.color, 0.35) : line.color);
    pen.setWidthF(line.faint || dense ? 1.0 : line.style == Qt::DotLine ? 1.6 : 2.0);
    pen.setStyle(line.style);
    pen.setCapStyle(Qt::RoundCap);
    pen.setJoinStyle(Qt::RoundJoin);
    return pen;
}

QString endTextOf(const LineData &line) {
    if (!line.endText.isEmpty() || line.size() == 0)
        return line.endText;
    return core::significant(line.at(line.size() - 1).y());
}

/// A name stands for all repeats of its run: only published lines keep their dots.
Qt::PenStyle endStyleOf(const LineData &line) {
    return line.style == Qt::DotLine ? Qt::DotLine : Qt::SolidLine;
}

} // namespace

void LineChart::refreshPictures() {
    const double ratio = viewport()->devicePixelRatioF();
    const QSize size = viewport()->size() * ratio;
    const auto paintInto = [&](QPixmap &picture, const auto &paint) {
        QPainter painter(&picture);
        painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
        paint(&painter);
    };
    if (m_axesStale || m_axesPicture.size() != size) {
        m_axesPicture = QPixmap(size);
        m_axesPicture.setDevicePixelRatio(ratio);
        m_axesPicture.fill(m_theme.palette().surface);
        m_axesOnly = true;
        paintInto(m_axesPicture, [&](QPainter *painter) {
            render(painter, QRectF(QPointF(), QSizeF(viewport()->size())), viewport()->rect());
        });
        m_axesOnly = false;
        m_axesStale = false;
        m_pictureStale = true;
    }
    if (m_pictureStale) {
        m_picture = m_axesPicture;
        paintInto(m_picture, [&](QPainter *painter) { paintFront(painter); });
        m_pictureStale = false;
    }
}

void LineChart::paintEvent(QPaintEvent *event) {
    refreshPictures();
    QPainter painter(viewport());
    painter.setClipRegion(event->region());
    painter.drawPixmap(0, 0, m_picture);
    painter.setRenderHint(QPainter::Antialiasing);
    paintCrosshair(&painter);
    if (hasFocus()) {
        painter.setPen(QPen(mix(m_theme.palette().border, m_theme.palette().text, 0.22), 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(viewport()->rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
}

/// Exports come through here; the picture on screen paints its axes alone first.
void LineChart::drawForeground(QPainter *painter, const QRectF &) {
    if (m_axesOnly)
        return;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    paintFront(painter);
    painter->restore();
}

void LineChart::paintFront(QPainter *painter) const {
    const Palette &p = m_theme.palette();
    if (isEmpty()) {
        painter->setFont(Theme::font(Type::Body));
        painter->setPen(p.textMuted);
        painter->drawText(QRectF(viewport()->rect()).adjusted(16, 0, -16, 0), Qt::AlignCenter | Qt::TextWordWrap,
                          m_empty);
        return;
    }
    const QRectF area = chart()->plotArea();
    painter->save();
    painter->setClipRect(area.adjusted(-2, -2, 2, 2));
    paintMarks(painter);
    for (qsizetype i = 0; i < m_lines.size(); ++i)
        paintCurve(painter, m_lines[i], m_drawn[std::size_t(i)]);
    paintBroken(painter);
    painter->restore();
    paintEndLabels(painter);
    if (const QString text = shownText(); !text.isEmpty()) {
        painter->setFont(Theme::font(Type::Small));
        painter->setPen(p.textMuted);
        const QRectF row(area.left(), viewport()->height() - 16, viewport()->width() - area.left() - 4, 16);
        // Beside the axis title where there is room, else above the curves.
        const QFontMetricsF metrics(painter->font());
        const bool beside =
            row.width() / 2 > metrics.horizontalAdvance(text) + metrics.horizontalAdvance(m_xTitle) / 2 + 12;
        painter->drawText(beside ? row : QRectF(area.left(), area.top() - 8, area.width(), 14),
                          Qt::AlignRight | Qt::AlignVCenter, text);
    }
}

void LineChart::paintCurve(QPainter *painter, const LineData &line, const Drawn &drawn) const {
    const QRectF area = chart()->plotArea();
    const double xScale = area.width() / (m_xTo - m_xFrom), yScale = area.height() / (m_yTo - m_yFrom);
    painter->setPen(penOf(line, double(drawn.part.shown) > area.width() / 2, m_theme.palette()));
    painter->setBrush(Qt::NoBrush);
    QPolygonF piece;
    piece.reserve(drawn.part.points.size());
    const auto flush = [&] {
        if (piece.size() == 1)
            painter->drawPoint(piece.first());
        else if (!piece.isEmpty())
            painter->drawPolyline(piece);
        piece.clear();
    };
    for (const QPointF &p : drawn.part.points) {
        const double y = m_log ? std::log10(p.y()) : p.y(); // not above zero: -inf or NaN
        if (!std::isfinite(y)) {
            flush();
            continue;
        }
        // A plot's length beyond the picture: far points would overflow the raster's coordinates.
        piece.append({area.left() + std::clamp((p.x() - m_xFrom) * xScale, -area.width(), 2 * area.width()),
                      area.bottom() - std::clamp((y - m_yFrom) * yScale, -area.height(), 2 * area.height())});
    }
    flush();
    if (!line.markers || line.faint || double(drawn.part.shown) > area.width() / 6)
        return;
    painter->setPen(Qt::NoPen);
    painter->setBrush(line.color);
    for (const QPointF &p : drawn.part.points)
        if (std::isfinite(p.y()) && !(m_log && p.y() <= 0))
            painter->drawEllipse(toPlot(p), 2.5, 2.5);
}

/// What is not finite has no place on y: it is marked at the top where it happened.
void LineChart::paintBroken(QPainter *painter) const {
    const QRectF area = chart()->plotArea();
    const Palette &p = m_theme.palette();
    painter->setFont(Theme::font(Type::Small, QFont::DemiBold));
    double free = -INFINITY; // neighbours share a word
    for (qsizetype i = 0; i < m_lines.size(); ++i) {
        if (m_lines[i].faint)
            continue;
        for (const QPointF &point : m_drawn[std::size_t(i)].part.broken) {
            const double x = toPlot({point.x(), 1}).x();
            painter->setPen(QPen(p.wrong, 1));
            painter->drawLine(QPointF(x, area.top()), QPointF(x, area.top() + 8));
            if (x < free)
                continue;
            const QString word = core::significant(point.y());
            painter->drawText(QPointF(x + 3, area.top() + 10), word);
            free = x + QFontMetricsF(painter->font()).horizontalAdvance(word) + 10;
        }
        free = -INFINITY;
    }
}

void LineChart::paintMarks(QPainter *painter) const {
    const QRectF area = chart()->plotArea();
    for (const ChartMark &mark : m_marks) {
        if (mark.x < m_xFrom || mark.x > m_xTo)
            continue;
        const double x = toPlot({mark.x, 1}).x();
        paintMarkLine(painter, mark, x, area.top(), area.bottom());
        paintMarkSign(painter, mark, x, area.bottom(), m_theme.palette());
    }
}

const ChartMark *LineChart::markAt(const QPointF &position) const {
    const QRectF area = chart()->plotArea();
    if (position.y() < area.bottom() - 2 * markSize || position.y() > area.bottom() + 4)
        return nullptr;
    const ChartMark *best = nullptr;
    double nearest = markSize;
    for (const ChartMark &mark : m_marks)
        if (const double away = std::abs(toPlot({mark.x, 1}).x() - position.x()); away < nearest) {
            nearest = away;
            best = &mark;
        }
    return best;
}

int LineChart::endLabelWidth() const {
    QList<EndLabel> labels;
    for (const LineData &line : m_lines)
        if (line.labelled && !line.faint && line.size() > 0)
            labels.append({0, line.name, endTextOf(line), line.color, endStyleOf(line)});
    const int wanted = labels.isEmpty() ? 8 : int(std::ceil(endLabelsWidth(labels)));
    if (wanted > width() * 2 / 5) // a narrow chart keeps its room for the curves: the run list names them too
        return m_labelWidth = 8;
    // Figures change their width all the time; the plot does not move with each of them.
    if (wanted > m_labelWidth || wanted < m_labelWidth - 24)
        m_labelWidth = wanted;
    return m_labelWidth;
}

void LineChart::paintEndLabels(QPainter *painter) const {
    if (m_labelWidth <= 8)
        return;
    const QRectF area = chart()->plotArea();
    QList<EndLabel> labels;
    for (const LineData &line : m_lines) {
        if (!line.labelled || line.faint || line.size() == 0)
            continue;
        const QPointF last = line.at(line.size() - 1);
        const double y = std::isfinite(last.y()) ? toPlot(last).y() : area.top();
        labels.append(
            {std::clamp(y, area.top(), area.bottom()), line.name, endTextOf(line), line.color, endStyleOf(line)});
    }
    ui::paintEndLabels(painter, labels, area, m_theme.palette());
}

void LineChart::paintCrosshair(QPainter *painter) const {
    const QRectF area = chart()->plotArea();
    if (!m_crosshair || *m_crosshair < m_xFrom || *m_crosshair > m_xTo || isEmpty())
        return;
    QList<EndLabel> read;
    double at = NAN;
    for (qsizetype i = 0; i < m_lines.size(); ++i) {
        const LineData &line = m_lines[i];
        const auto found = m_drawn[std::size_t(i)].curve->nearest(*m_crosshair);
        if (line.faint || !found)
            continue;
        if (std::isnan(at) || std::abs(found->x() - *m_crosshair) < std::abs(at - *m_crosshair))
            at = found->x();
        read.append({0, line.name, core::significant(found->y()), line.color, line.style});
    }
    const double px = toPlot({*m_crosshair, 1}).x();
    painter->setPen(QPen(m_theme.palette().textMuted, 1, Qt::DashLine));
    painter->drawLine(QPointF(px, area.top()), QPointF(px, area.bottom()));
    const qsizetype room = std::max<qsizetype>(1, qsizetype((area.height() - 36) / 16));
    const qsizetype left = read.size() - room;
    if (left > 0) {
        read = read.mid(0, room - 1);
        read.append({0, tr("and %1 more").arg(left + 1), {}, m_theme.palette().textMuted, Qt::NoPen});
    }
    if (!read.isEmpty())
        paintReadout(painter, QStringLiteral("%1 %2").arg(m_xTitle, xText(at)), read, px, area, m_theme.palette());
}

} // namespace lockstep::ui
