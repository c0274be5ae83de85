// SPDX-License-Identifier: MIT
#include "app/ui/charts/end_labels.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <numeric>

#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

constexpr double rowHeight = 16, swatch = 14, gap = 6;

struct Columns {
    double name = 0, value = 0;
};

Columns columnsOf(const QList<EndLabel> &labels) {
    const QFontMetricsF names(Theme::font(Type::Small)), values(Theme::figures(Type::Small, QFont::DemiBold));
    Columns out;
    for (const EndLabel &label : labels) {
        out.name = std::max(out.name, names.horizontalAdvance(label.name));
        out.value = std::max(out.value, values.horizontalAdvance(label.value));
    }
    return out;
}

void paintRow(QPainter *painter, const EndLabel &label, const Columns &columns, double x, double y,
              const Palette &palette) {
    QPen pen(label.color, 2, label.style);
    painter->setPen(pen);
    painter->drawLine(QPointF(x, y), QPointF(x + swatch, y));
    painter->setPen(palette.textSecondary);
    painter->setFont(Theme::font(Type::Small));
    x += swatch + gap;
    painter->drawText(QRectF(x, y - rowHeight / 2, columns.name + 2, rowHeight), Qt::AlignVCenter | Qt::AlignLeft,
                      label.name);
    painter->setPen(palette.text);
    painter->setFont(Theme::figures(Type::Small, QFont::DemiBold));
    x += columns.name + gap;
    painter->drawText(QRectF(x, y - rowHeight / 2, columns.value + 2, rowHeight), Qt::AlignVCenter | Qt::AlignRight,
                      label.value);
}

double rowWidth(const Columns &columns) {
    return swatch + gap + columns.name + gap + columns.value + 2;
}

} // namespace

QList<double> spreadLabels(const QList<double> &wanted, double height, double top, double bottom) {
    QList<qsizetype> order(wanted.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](qsizetype a, qsizetype b) { return wanted[a] < wanted[b]; });
    QList<double> out = wanted;
    double free = top + height / 2;
    for (const qsizetype i : order) {
        out[i] = std::max(wanted[i], free);
        free = out[i] + height;
    }
    double limit = bottom - height / 2;
    for (auto i = order.rbegin(); i != order.rend(); ++i) {
        out[*i] = std::min(out[*i], limit);
        limit = out[*i] - height;
    }
    return out;
}

double endLabelsWidth(const QList<EndLabel> &labels) {
    return rowWidth(columnsOf(labels)) + gap;
}

void paintEndLabels(QPainter *painter, const QList<EndLabel> &labels, const QRectF &plot, const Palette &palette) {
    QList<double> wanted;
    for (const EndLabel &label : labels)
        wanted.append(label.y);
    const QList<double> rows = spreadLabels(wanted, rowHeight, plot.top() - 6, plot.bottom() + 6);
    const Columns columns = columnsOf(labels);
    for (qsizetype i = 0; i < labels.size(); ++i)
        paintRow(painter, labels[i], columns, plot.right() + gap, rows[i], palette);
}

void paintReadout(QPainter *painter, const QString &head, const QList<EndLabel> &rows, double x, const QRectF &plot,
                  const Palette &palette) {
    const Columns columns = columnsOf(rows);
    const QFontMetricsF metrics(Theme::font(Type::Small));
    const double width = std::max(rowWidth(columns), metrics.horizontalAdvance(head)) + 16;
    const double height = (double(rows.size()) + 1) * rowHeight + 12;
    // Right of the crosshair, else left of it; over the axis where neither has the room, but never cut off.
    const double left = x + 12 + width < plot.right() ? x + 12 : std::max(2.0, x - 12 - width);
    const QRectF box(left, plot.top() + 4, width, height);
    painter->setPen(QPen(palette.border, 1));
    painter->setBrush(palette.surface);
    painter->drawRoundedRect(box, 6, 6);
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(palette.textMuted);
    painter->drawText(QRectF(box.left() + 8, box.top() + 6, width - 16, rowHeight), Qt::AlignVCenter | Qt::AlignLeft,
                      head);
    double y = box.top() + 6 + rowHeight * 1.5;
    for (const EndLabel &row : rows) {
        paintRow(painter, row, columns, box.left() + 8, y, palette);
        y += rowHeight;
    }
}

} // namespace lockstep::ui
