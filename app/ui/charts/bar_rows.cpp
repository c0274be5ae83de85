// SPDX-License-Identifier: MIT
#include "app/ui/charts/bar_rows.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {

void BarRows::place(const QRectF &area, qsizetype count, double highestRow, double lowestRow) {
    const double rows = double(std::max<qsizetype>(1, count)), left = area.left() + nameWidth + gap;
    rowHeight = std::clamp((area.height() - footHeight) / rows, lowestRow, highestRow);
    plot = QRectF(left, area.top(), std::max(40.0, area.right() - valueWidth - gap - left), rowHeight * rows);
}

int BarRows::rowAt(const QPointF &position, qsizetype count) const {
    const int row = int(std::floor((position.y() - plot.top()) / rowHeight));
    return row >= 0 && row < count ? row : -1;
}

int BarRows::heightOf(qsizetype count, double each) {
    return int(std::ceil(axisHeight + double(count) * each));
}

void paintAxisBelow(QPainter *painter, const Palette &palette, const QRectF &plot, double low, double high,
                    const Ticks &ticks, const QString &title) {
    painter->setFont(Theme::figures(Type::Small));
    for (qsizetype i = 0; i < ticks.at.size(); ++i) {
        const double x = plot.left() + (ticks.at[i] - low) / (high - low) * plot.width();
        if (x > plot.right() + 1)
            continue;
        painter->setPen(QPen(palette.border, 1));
        painter->drawLine(QPointF(x, plot.bottom()), QPointF(x, plot.bottom() + 4));
        painter->setPen(palette.textMuted);
        painter->drawText(QRectF(x - 40, plot.bottom() + 4, 80, 14), Qt::AlignCenter, ticks.labels[i]);
    }
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(palette.textMuted);
    const double width = std::max(plot.width(), QFontMetricsF(painter->font()).horizontalAdvance(title) + 2);
    painter->drawText(QRectF(plot.center().x() - width / 2, plot.bottom() + 18, width, 16), Qt::AlignCenter, title);
}

void hatch(QPainter *painter, const QRectF &box, const QColor &ink) {
    painter->save();
    painter->setClipRect(box, Qt::IntersectClip);
    painter->setPen(QPen(ink, 1.2));
    const double step =
        std::max(6.0, (box.width() + box.height()) / 2000); // a value that is wrong may be far off the chart
    for (double x = box.left() - box.height(); x < box.right(); x += step)
        painter->drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
    painter->restore();
}

} // namespace lockstep::ui
