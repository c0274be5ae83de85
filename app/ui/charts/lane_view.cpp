#include "app/ui/charts/lane_view.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {
constexpr double axisHeight = 34, gap = 8, laneGap = 4, reachS = 0.6;
}

QList<double> columnMeans(const QList<QPointF> &samples, double from, double to, int columns, double reach) {
    QList<double> sums(columns, 0.0), out(columns, std::nan(""));
    QList<int> counts(columns, 0);
    const double width = (to - from) / columns;
    for (const QPointF &p : samples) {
        const double at = std::floor((p.x() - from) / width);
        if (at < 0 || at >= columns || !std::isfinite(p.y()))
            continue;
        sums[int(at)] += p.y();
        ++counts[int(at)];
    }
    int last = -1;
    for (int i = 0; i < columns; ++i) {
        if (counts[i] == 0)
            continue;
        out[i] = sums[i] / counts[i];
        if (last >= 0 && (i - last - 1) * width <= reach)
            for (int j = last + 1; j < i; ++j)
                out[j] = out[last];
        last = i;
    }
    return out;
}

LaneView::LaneView(const Theme &theme, QString name, QWidget *parent) : PaintedChart(theme, std::move(name), parent) {
    setMinimumHeight(96);
}

void LaneView::setLanes(const QList<Lane> &lanes, double fromS, double toS, const QString &axisTitle) {
    if (!(toS > fromS))
        toS = fromS + 1;
    if (lanes == m_lanes && fromS == m_from && toS == m_to && axisTitle == m_axisTitle)
        return;
    const bool resized = lanes.size() != m_lanes.size();
    m_lanes = lanes;
    m_from = fromS;
    m_to = toS;
    m_axisTitle = axisTitle;
    if (resized)
        updateGeometry();
    update();
}

QSize LaneView::sizeHint() const {
    return {480, int(axisHeight) + int(std::max<qsizetype>(3, m_lanes.size())) * 30};
}

LaneView::Columns LaneView::layOut(const QRectF &area) const {
    const QFontMetricsF small(Theme::font(Type::Small)), bold(Theme::font(Type::Small, QFont::DemiBold));
    Columns out{};
    for (const Lane &lane : m_lanes) {
        out.runWidth = std::max(out.runWidth, bold.horizontalAdvance(lane.run));
        out.deviceWidth = std::max(out.deviceWidth, small.horizontalAdvance(lane.device));
        out.valueWidth = std::max(out.valueWidth, bold.horizontalAdvance(lane.value));
    }
    out.runWidth = std::min(out.runWidth + 2, area.width() * 0.25);
    out.deviceWidth = std::min(out.deviceWidth + 2, area.width() * 0.2);
    out.valueWidth = std::max(out.valueWidth, bold.horizontalAdvance(QStringLiteral("100 %"))) + 2;
    const double count = double(std::max<qsizetype>(1, m_lanes.size()));
    out.laneHeight = std::clamp((area.height() - axisHeight) / count, 14.0, 40.0);
    const double left = area.left() + out.runWidth + gap + out.deviceWidth + gap;
    out.strip = QRectF(left, area.top(), area.right() - out.valueWidth - gap - left, out.laneHeight * count);
    return out;
}

void LaneView::paintLane(QPainter *painter, const Lane &lane, const QRectF &strip) const {
    const Palette &p = theme().palette();
    painter->setRenderHint(QPainter::Antialiasing, false);
    painter->fillRect(strip, mix(p.surface, p.border, 0.35));
    const int columns = std::max(1, int(strip.width() / 2));
    const QList<double> means = columnMeans(lane.samples, m_from, m_to, columns, reachS);
    const double width = strip.width() / columns;
    QPainterPath line;
    bool drawing = false;
    for (int i = 0; i < columns; ++i) {
        if (std::isnan(means[i])) {
            drawing = false;
            continue;
        }
        const double share = std::clamp(means[i], 0.0, 1.0), x = strip.left() + i * width;
        // The fill's height and depth both say how busy, so that short lanes and grey printouts read too.
        const double top = strip.bottom() - share * (strip.height() - 1);
        painter->fillRect(QRectF(x, strip.top(), width + 0.5, strip.height()),
                          mix(p.surface, lane.color, 0.06 + 0.34 * share));
        painter->fillRect(QRectF(x, top, width + 0.5, strip.bottom() - top),
                          mix(p.surface, lane.color, 0.2 + 0.55 * share));
        const QPointF at(x + width / 2, top);
        drawing ? line.lineTo(at) : line.moveTo(at);
        drawing = true;
    }
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(lane.color, 1.25));
    painter->setBrush(Qt::NoBrush);
    painter->drawPath(line);
}

void LaneView::paintAxis(QPainter *painter, const QRectF &strip, const QRectF &area) const {
    const Palette &p = theme().palette();
    const Ticks ticks = niceTicks(m_from, m_to, std::clamp(int(strip.width() / 90), 2, 8), false);
    painter->setFont(Theme::figures(Type::Small));
    for (qsizetype i = 0; i < ticks.at.size(); ++i) {
        const double x = strip.left() + (ticks.at[i] - m_from) / (m_to - m_from) * strip.width();
        painter->setPen(QPen(p.border, 1));
        painter->drawLine(QPointF(x, strip.bottom()), QPointF(x, strip.bottom() + 4));
        painter->setPen(p.textMuted);
        painter->drawText(QRectF(x - 40, strip.bottom() + 4, 80, 14), Qt::AlignCenter, ticks.labels[i]);
    }
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(p.textMuted);
    painter->drawText(QRectF(strip.left(), strip.bottom() + 18, strip.width(), std::min(16.0, area.bottom())),
                      Qt::AlignCenter, m_axisTitle);
}

void LaneView::paintChart(QPainter *painter, const QRectF &area) {
    const Palette &p = theme().palette();
    const Columns columns = layOut(area);
    const QFont small = Theme::font(Type::Small), bold = Theme::font(Type::Small, QFont::DemiBold);
    QString before;
    for (qsizetype i = 0; i < m_lanes.size(); ++i) {
        const Lane &lane = m_lanes[i];
        const double y = columns.strip.top() + double(i) * columns.laneHeight;
        const bool first = lane.run != before;
        if (first) {
            painter->setFont(bold);
            painter->setPen(p.text);
            painter->drawText(QRectF(area.left(), y, columns.runWidth, columns.laneHeight),
                              Qt::AlignVCenter | Qt::AlignLeft,
                              QFontMetricsF(bold).elidedText(lane.run, Qt::ElideRight, columns.runWidth));
        }
        before = lane.run;
        painter->setFont(small);
        painter->setPen(p.textSecondary);
        painter->drawText(QRectF(area.left() + columns.runWidth + gap, y, columns.deviceWidth, columns.laneHeight),
                          Qt::AlignVCenter | Qt::AlignLeft,
                          QFontMetricsF(small).elidedText(lane.device, Qt::ElideMiddle, columns.deviceWidth));
        paintLane(painter, lane,
                  QRectF(columns.strip.left(), y + laneGap / 2, columns.strip.width(), columns.laneHeight - laneGap));
        painter->setFont(Theme::figures(Type::Small, QFont::DemiBold));
        painter->setPen(p.text);
        painter->drawText(QRectF(columns.strip.right() + gap, y, columns.valueWidth, columns.laneHeight),
                          Qt::AlignVCenter | Qt::AlignRight, lane.value);
    }
    paintAxis(painter, columns.strip, area);
}

QString LaneView::hint(const QPointF &position) const {
    const Columns columns = layOut(rect());
    const int row = int((position.y() - columns.strip.top()) / columns.laneHeight);
    return row >= 0 && row < m_lanes.size() ? m_lanes[row].hint : QString();
}

QString LaneView::chartData() const {
    QString out = QStringLiteral("run\tdevice\ttime_s\tutilization\n");
    for (const Lane &lane : m_lanes)
        for (const QPointF &p : lane.samples)
            out += QStringLiteral("%1\t%2\t%3\t%4\n")
                       .arg(lane.run, lane.device)
                       .arg(p.x(), 0, 'f', 3)
                       .arg(p.y(), 0, 'f', 4);
    return out;
}

} // namespace lockstep::ui
