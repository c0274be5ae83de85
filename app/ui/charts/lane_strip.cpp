// SPDX-License-Identifier: MIT
#include "app/ui/charts/lane_strip.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/bar_rows.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {
constexpr double leastWords = 90; ///< px that a sentence in a lane takes
} // namespace

double LaneTimes::placeOf(double timeS, const QRectF &strip) const {
    return strip.left() + (timeS - from) / (to - from) * strip.width();
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

void LaneStrip::paint(QPainter *painter, const Lane &lane, const QColor &color, const QRectF &strip) const {
    const Palette &p = m_palette;
    painter->setRenderHint(QPainter::Antialiasing, false);
    painter->fillRect(strip, mix(p.surface, p.border, 0.35));
    if (lane.samples.isEmpty()) {
        painter->setFont(Theme::font(Type::Small));
        painter->setPen(p.textMuted);
        painter->drawText(
            strip.adjusted(BarRows::gap, 0, -BarRows::gap, 0), Qt::AlignVCenter | Qt::AlignLeft,
            QFontMetricsF(painter->font()).elidedText(lane.unknown, Qt::ElideRight, strip.width() - 2 * BarRows::gap));
        return;
    }
    const int columns = std::max(1, int(strip.width() / 2));
    const QList<double> means = columnMeans(lane.samples, m_times.from, m_times.to, columns, reachS);
    const double width = strip.width() / columns;
    QPainterPath line;
    bool drawing = false;
    for (int i = 0; i < columns; ++i) {
        if (std::isnan(means[i])) {
            drawing = false;
            continue;
        }
        const double share = std::clamp(means[i] / m_full, 0.0, 1.0), x = strip.left() + i * width;
        // The fill's height and depth both say how busy, so that short lanes and grey printouts read too.
        const double top = strip.bottom() - share * (strip.height() - 1);
        painter->fillRect(QRectF(x, strip.top(), width + 0.5, strip.height()),
                          mix(p.surface, color, 0.06 + 0.34 * share));
        painter->fillRect(QRectF(x, top, width + 0.5, strip.bottom() - top), mix(p.surface, color, 0.2 + 0.55 * share));
        const QPointF at(x + width / 2, top);
        drawing ? line.lineTo(at) : line.moveTo(at);
        drawing = true;
    }
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(color, 1.25));
    painter->setBrush(Qt::NoBrush);
    painter->drawPath(line);
    if (lane.noRecentData.isEmpty())
        return;
    const QRectF silent = strip.adjusted(
        m_times.placeOf(lane.samples.constLast().x(), strip) - strip.left() + BarRows::gap, 0, -BarRows::gap, 0);
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(p.textMuted);
    if (silent.width() > leastWords)
        painter->drawText(silent, Qt::AlignVCenter | Qt::AlignLeft,
                          QFontMetricsF(painter->font()).elidedText(lane.noRecentData, Qt::ElideRight, silent.width()));
}

} // namespace lockstep::ui
