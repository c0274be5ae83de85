// SPDX-License-Identifier: MIT
#include "app/ui/charts/line_painter.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/end_labels.h"
#include "app/ui/charts/line_readout.h"
#include "app/ui/charts/run_highlight.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

constexpr int noNames = 8; ///< px right of the plot
constexpr double columnGap = 6, axesHeight = 60;
constexpr int roomOfCurves = 212, leastNames = 64; ///< px that a plot and its y axis keep, and a colour with its figure
constexpr double leastReadout = 112;               ///< px for the values at the crosshair where no name needs the room
constexpr double shownTextGap = 4;                 ///< px to the view's right
constexpr double aboveLabels = 6; ///< px above the plot: half of the uppermost figure, and half of a name, reach there
constexpr double lastTick = 14;   ///< px that a tick's figure at the plot's end reaches beyond it

/// A dense line one pixel wide: Qt's raster engine strokes wider ones through a path, a hundred times as slowly, and a
/// line that goes up and down within each column looks no better for it.
QPen penOf(const LineData &line, const QColor &color, bool dense, bool emphasised) {
    QPen pen(color);
    pen.setWidthF(line.faint || dense ? 1.0 : emphasised ? 3.0 : line.isDotted() ? 1.6 : 2.0);
    pen.setStyle(line.style);
    pen.setCapStyle(Qt::RoundCap);
    pen.setJoinStyle(Qt::RoundJoin);
    return pen;
}

bool isNamed(const LineData &line) {
    return line.labelled && !line.faint && line.size() > 0;
}

EndLabel endLabel(const LineData &line, double y) {
    const Qt::PenStyle style = line.style == Qt::NoPen ? Qt::SolidLine : line.style; // of dots alone: their colour
    return {y, paintedName(line.name), line.textAtEnd(), line.color, style};
}

/// Of a single label the colour says whose figure it is: a name that would be cut short adds nothing.
bool isNeedlessName(const QList<EndLabel> &labels, double width) {
    if (labels.size() != 1)
        return false;
    const QFontMetricsF metrics(Theme::font(Type::Small));
    const QString &name = labels.first().name;
    return isCutShort(name, metrics, width - (endLabelsWidth(labels) - metrics.horizontalAdvance(name)));
}

} // namespace

bool isShownTextBeside(const LineContent &content, const QRectF &plot, double viewWidth) {
    const QFontMetricsF metrics(Theme::font(Type::Small));
    const double titleEnd = plot.center().x() + metrics.horizontalAdvance(content.xTitle) / 2;
    return titleEnd + 12 + metrics.horizontalAdvance(content.lines.shownText()) + shownTextGap <= viewWidth;
}

EndNames endNames(const DrawnLines &lines, const QSize &chart, int before) {
    QList<EndLabel> labels;
    for (const LineData &line : lines.lines())
        if (isNamed(line))
            labels.append(endLabel(line, 0));
    if (labels.isEmpty())
        return {noNames, false};
    const bool many = labels.size() > endLabelsRoom(chart.height() - axesHeight);
    // A narrow chart keeps its room for the curves: longer names are cut short, and the list of runs has them whole.
    const int most = std::min(chart.width() * 2 / 5, std::max(leastNames, chart.width() - roomOfCurves));
    double natural = many ? readoutWidth(byGroup(readEnds(lines).rows)) + 2 * columnGap : endLabelsWidth(labels);
    if (isNeedlessName(labels, most)) {
        labels.first().name.clear();
        natural = std::max(endLabelsWidth(labels), leastReadout);
    }
    const int wanted = std::min(int(std::ceil(natural)), most);
    // Figures change their width all the time; the plot must not move each time.
    return {wanted > before || wanted < before - 24 ? wanted : before, many};
}

bool LinePainter::isPaled(const LineData &line) const {
    return m_content.highlight && !line.isDotted() && m_content.highlight->pales(line.name);
}

QColor LinePainter::colorOf(const LineData &line) const {
    return isPaled(line) ? paled(line.color, m_palette) : line.color;
}

QRectF LinePainter::column() const {
    return {m_plot.right() + columnGap, m_plot.top() - 8, double(m_names.width) - columnGap,
            m_view.bottom() - m_plot.top() + 8 - 18};
}

void LinePainter::paint(QPainter *painter) const {
    if (m_content.lines.isEmpty())
        return paintEmpty(painter);
    painter->save();
    painter->setClipRect(m_plot.adjusted(-2, -2, 2, 2));
    paintMarks(painter);
    const QList<LineData> &lines = m_content.lines.lines();
    for (const bool behind : {true, false}) // those that are paled first
        for (qsizetype i = 0; i < lines.size(); ++i)
            if (isPaled(lines[i]) == behind)
                paintCurve(painter, i);
    paintBroken(painter);
    painter->restore();
    paintNames(painter);
    paintShownText(painter);
}

void LinePainter::paintEmpty(QPainter *painter) const {
    painter->setFont(Theme::font(Type::Body));
    painter->setPen(m_palette.textMuted);
    painter->drawText(m_view.adjusted(16, 0, -16, 0), Qt::AlignCenter | Qt::TextWordWrap, m_content.emptyText);
}

void LinePainter::paintMarks(QPainter *painter) const {
    for (const ChartMark &mark : m_content.marks) {
        if (mark.x < m_content.scale.xFrom() || mark.x > m_content.scale.xTo())
            continue;
        const double x = placeOf({mark.x, 1}).x();
        paintMarkLine(painter, mark, x, m_plot.top(), m_plot.bottom(), m_palette);
        paintMarkSign(painter, mark, x, m_plot.bottom(), m_palette);
    }
}

void LinePainter::paintCurve(QPainter *painter, qsizetype place) const {
    const LineScale &scale = m_content.scale;
    const LineData &line = m_content.lines.lines()[place];
    const core::CurvePart &part = m_content.lines.part(place);
    const double xScale = m_plot.width() / (scale.xTo() - scale.xFrom());
    const double yScale = m_plot.height() / (scale.yTo() - scale.yFrom());
    const QColor color = colorOf(line);
    painter->setPen(penOf(line, line.faint ? mix(m_palette.surface, color, 0.35) : color,
                          double(part.shown) > m_plot.width() / 2,
                          m_content.highlight && m_content.highlight->isOn(line.runId)));
    painter->setBrush(Qt::NoBrush);
    QPolygonF piece;
    piece.reserve(part.points.size());
    const auto flush = [&] {
        if (piece.size() == 1)
            painter->drawPoint(piece.first());
        else if (!piece.isEmpty())
            painter->drawPolyline(piece);
        piece.clear();
    };
    for (const QPointF &p : part.points) {
        const double y = scale.isLog() ? std::log10(p.y()) : p.y(); // not above zero: -inf or NaN
        if (!std::isfinite(y)) {
            flush();
            continue;
        }
        // A plot's length beyond the picture: far points would overflow the raster's coordinates.
        piece.append(
            {m_plot.left() + std::clamp((p.x() - scale.xFrom()) * xScale, -m_plot.width(), 2 * m_plot.width()),
             m_plot.bottom() - std::clamp((y - scale.yFrom()) * yScale, -m_plot.height(), 2 * m_plot.height())});
    }
    flush();
    if (!line.markers || line.faint || double(part.shown) > m_plot.width() / 6)
        return;
    painter->setPen(Qt::NoPen);
    painter->setBrush(color);
    for (const QPointF &p : part.points)
        if (std::isfinite(p.y()) && !(scale.isLog() && p.y() <= 0))
            painter->drawEllipse(placeOf(p), 2.5, 2.5);
}

/// A value that is not finite has no position on y: marks it at the top, at its x.
void LinePainter::paintBroken(QPainter *painter) const {
    const DrawnLines &lines = m_content.lines;
    painter->setFont(Theme::font(Type::Small, QFont::DemiBold));
    for (qsizetype i = 0; i < lines.lines().size(); ++i) {
        if (lines.lines()[i].faint)
            continue;
        double free = -INFINITY; // neighbours share a word
        for (const QPointF &point : lines.part(i).broken) {
            const double x = placeOf({point.x(), 1}).x();
            painter->setPen(QPen(m_palette.wrong, 1));
            painter->drawLine(QPointF(x, m_plot.top()), QPointF(x, m_plot.top() + 8));
            if (x < free)
                continue;
            const QString word = core::significant(point.y());
            painter->drawText(QPointF(x + 3, m_plot.top() + 10), word);
            free = x + QFontMetricsF(painter->font()).horizontalAdvance(word) + 10;
        }
    }
}

void LinePainter::paintNames(QPainter *painter) const {
    if (m_names.width <= noNames)
        return;
    QList<EndLabel> labels;
    for (const LineData &line : m_content.lines.lines()) {
        if (!isNamed(line))
            continue;
        const QPointF last = line.at(line.size() - 1);
        const double y = std::isfinite(last.y()) ? placeOf(last).y() : m_plot.top();
        labels.append(endLabel(line, std::clamp(y, m_plot.top(), m_plot.bottom())));
        labels.last().color = colorOf(line);
    }
    if (isNeedlessName(labels, m_names.width))
        labels.first().name.clear();
    if (!m_names.listed && labels.size() <= endLabelsRoom(m_plot.height()))
        paintEndLabels(painter, labels, m_plot, m_names.width, m_palette);
    else
        paintReadout(painter, tr("last points"), byGroup(readEnds(m_content.lines).rows), column(), m_palette);
}

void LinePainter::paintShownText(QPainter *painter) const {
    const QString text = m_content.lines.shownText();
    if (text.isEmpty())
        return;
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(m_palette.textMuted);
    // Above the plot it may begin left of it, and is cut at its end where even all of the view is too narrow.
    const double left = m_view.left() + shownTextGap;
    const QRectF below(m_plot.left(), m_view.height() - 16, m_view.width() - m_plot.left() - shownTextGap, 16);
    const QRectF above(left, m_plot.top() - aboveLabels - shownTextRow, m_plot.right() - left, shownTextRow);
    const QRectF &box = isShownTextBeside(m_content, m_plot, m_view.width()) ? below : above;
    painter->drawText(box, Qt::AlignRight | Qt::AlignVCenter,
                      QFontMetricsF(painter->font()).elidedText(text, Qt::ElideRight, box.width()));
}

void LinePainter::paintCrosshair(QPainter *painter, double x) const {
    if (x < m_content.scale.xFrom() || x > m_content.scale.xTo() || m_content.lines.isEmpty())
        return;
    const double place = placeOf({x, 1}).x();
    painter->setPen(QPen(m_palette.textMuted, 1, Qt::DashLine));
    painter->drawLine(QPointF(place, m_plot.top()), QPointF(place, m_plot.bottom()));
    Reading read = readAt(m_content.lines, x);
    if (read.rows.isEmpty() || m_names.width <= noNames)
        return;
    const QRectF all = column().adjusted(-columnGap + 1, 0, columnGap, 0);
    painter->fillRect(QRectF(all.topLeft(), QPointF(all.right(), m_plot.bottom() + 3)), m_palette.surface);
    painter->fillRect(QRectF(QPointF(all.left() + lastTick, m_plot.bottom()), all.bottomRight()), m_palette.surface);
    for (ReadRow &row : read.rows)
        if (m_content.highlight && row.style != Qt::DotLine && m_content.highlight->pales(row.name))
            row.color = paled(row.color, m_palette);
    paintReadout(painter, QStringLiteral("%1 %2").arg(m_content.xTitle, m_content.scale.xText(read.x)), read.rows,
                 column(), m_palette);
}

} // namespace lockstep::ui
