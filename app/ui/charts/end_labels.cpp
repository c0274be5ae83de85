// SPDX-License-Identifier: MIT
#include "app/ui/charts/end_labels.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <numeric>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"

namespace lockstep::ui {
namespace {

constexpr double rowHeight = 16, twoLines = 28, swatch = 14, gap = 6;
constexpr double leastName = 24; ///< px: a shorter piece of a name is useless
constexpr double overhang = 6;   ///< px that labels may stand above and below the plot

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

void paintRow(QPainter *painter, const EndLabel &label, const Columns &columns, const QRectF &row,
              const Palette &palette) {
    const double middle = row.center().y();
    painter->setPen(QPen(label.color, 2, label.style));
    painter->drawLine(QPointF(row.left(), middle), QPointF(row.left() + swatch, middle));
    painter->setPen(palette.textSecondary);
    painter->setFont(Theme::font(Type::Small));
    const double left = row.left() + swatch + gap;
    if (columns.name > 0) // else its colour shows which line the figure belongs to
        paintName(painter, QRectF(left, row.top(), columns.name, row.height()), label.name);
    painter->setPen(palette.text);
    painter->setFont(Theme::figures(Type::Small, QFont::DemiBold));
    const double before = columns.name > 0 ? columns.name + gap : 0;
    painter->drawText(QRectF(left + before, row.top(), columns.value + 2, row.height()),
                      int(Qt::AlignVCenter | Qt::AlignRight) | Qt::TextDontClip, label.value);
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

qsizetype endLabelsRoom(double plotHeight) {
    return qsizetype((plotHeight + 2 * overhang) / rowHeight);
}

void paintEndLabels(QPainter *painter, const QList<EndLabel> &labels, const QRectF &plot, double width,
                    const Palette &palette) {
    Columns columns = columnsOf(labels);
    const double room = width - gap - (rowWidth(columns) - columns.name);
    const bool two =
        room >= leastName && room < columns.name && double(labels.size()) * twoLines <= plot.height() + 2 * overhang;
    columns.name = room < leastName ? 0 : std::min(columns.name, room);
    const double height = two ? twoLines : rowHeight;
    QList<double> wanted;
    for (const EndLabel &label : labels)
        wanted.append(label.y);
    const QList<double> rows = spreadLabels(wanted, height, plot.top() - overhang, plot.bottom() + overhang);
    QStringList names;
    for (const EndLabel &label : labels)
        names.append(label.name);
    if (!two)
        names = toldApart(names, QFontMetricsF(Theme::font(Type::Small)), columns.name);
    for (qsizetype i = 0; i < labels.size(); ++i) {
        EndLabel label = labels[i];
        label.name = names[i];
        paintRow(painter, label, columns, {plot.right() + gap, rows[i] - height / 2, width, height}, palette);
    }
}

} // namespace lockstep::ui
