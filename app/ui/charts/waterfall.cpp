// SPDX-License-Identifier: MIT
#include "app/ui/charts/waterfall.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

double after(const WaterfallBar &bar, double before) {
    return bar.total ? bar.seconds : before + bar.seconds;
}

} // namespace

Waterfall::Waterfall(const Theme &theme, QString name, QWidget *parent)
    : RowsChart(theme, std::move(name), 4, 28, parent) {}

double Waterfall::whole() const {
    double out = 0;
    for (const WaterfallBar &bar : bars())
        if (bar.total)
            out = std::max(out, bar.seconds);
    return out;
}

QString Waterfall::textOf(const WaterfallBar &bar) const {
    if (bar.total)
        return core::seconds(bar.seconds);
    return core::addedSeconds(bar.seconds, bar.high > bar.low ? std::optional((bar.high - bar.low) / 2) : std::nullopt,
                              whole());
}

BarRows Waterfall::layOut(const QRectF &area) const {
    const QFontMetricsF names(Theme::font(Type::Small, QFont::DemiBold)),
        values(Theme::figures(Type::Small, QFont::DemiBold));
    BarRows out;
    double at = 0, low = 0, high = 0;
    for (const WaterfallBar &bar : bars()) {
        out.nameWidth = std::max(out.nameWidth, names.horizontalAdvance(paintedName(bar.name)));
        out.valueWidth = std::max(out.valueWidth, values.horizontalAdvance(textOf(bar)));
        const double before = bar.total ? 0 : at;
        for (const double end : {before, before + bar.seconds, before + bar.low, before + bar.high}) {
            low = std::min(low, end);
            high = std::max(high, end);
        }
        at = after(bar, at);
    }
    out.nameWidth = std::min(out.nameWidth + 2, area.width() * 0.36);
    out.valueWidth += BarRows::gap;
    out.low = low;
    out.high = high > low ? high : low + 1;
    out.place(area, bars().size(), 40);
    return out;
}

void Waterfall::paintBar(QPainter *painter, const WaterfallBar &bar, const BarRows &rows, double y, double from) const {
    const Palette &p = theme().palette();
    const double to = bar.total ? bar.seconds : from + bar.seconds;
    const double left = rows.x(std::min(from, to)), right = rows.x(std::max(from, to));
    const QRectF box(left, y + 5, std::max(1.5, right - left), rows.rowHeight - 10);
    if (bar.unattributed) {
        painter->setPen(QPen(p.textMuted, 1.2, Qt::DotLine));
        painter->drawRect(box);
    } else if (bar.total || bar.seconds < 0) {
        painter->fillRect(box, bar.total ? bar.color : mix(p.surface, bar.color, bar.isDoubtful() ? 0.25 : 0.74));
    } else {
        painter->fillRect(box, mix(p.surface, p.textMuted, bar.isDoubtful() ? 0.08 : 0.22));
        hatch(painter, box, mix(p.surface, p.textMuted, bar.isDoubtful() ? 0.3 : 0.8));
    }
    double end = box.right();
    if (!bar.total && bar.high > bar.low) {
        const double low = rows.x(from + bar.low), high = rows.x(from + bar.high), middle = box.center().y();
        painter->setPen(QPen(p.text, 1));
        painter->drawLine(QPointF(low, middle), QPointF(high, middle));
        for (const double x : {low, high})
            painter->drawLine(QPointF(x, middle - 4), QPointF(x, middle + 4));
        end = std::max(end, high);
    }
    painter->setFont(Theme::figures(Type::Small, QFont::DemiBold));
    const QString text = textOf(bar);
    const QRectF place(end + BarRows::gap, y, rows.valueWidth + 2, rows.rowHeight);
    painter->fillRect(
        QRectF(place.left() - 2, y + 4, QFontMetricsF(painter->font()).horizontalAdvance(text) + 4, rows.rowHeight - 8),
        p.surface); // the value reads over a connecting line
    painter->setPen(p.text);
    painter->drawText(place, Qt::AlignVCenter | Qt::AlignLeft, text);
}

void Waterfall::paintChart(QPainter *painter, const QRectF &area) {
    const Palette &p = theme().palette();
    const BarRows rows = layOut(area);
    const Ticks ticks = niceTicks(rows.low, rows.high, std::clamp(int(rows.plot.width() / 80), 2, 6), rows.low == 0);
    painter->setPen(QPen(p.grid, 1));
    for (const double at : ticks.at)
        if (const double x = rows.x(at); x <= rows.plot.right() + 1)
            painter->drawLine(QPointF(x, rows.plot.top()), QPointF(x, rows.plot.bottom()));
    double at = 0;
    for (qsizetype i = 0; i < bars().size(); ++i) {
        const WaterfallBar &bar = bars()[i];
        const double y = rows.y(i);
        painter->setFont(Theme::font(Type::Small, bar.total ? QFont::DemiBold : QFont::Normal));
        painter->setPen(bar.total ? p.text : p.textSecondary);
        painter->drawText(QRectF(area.left(), y, rows.nameWidth, rows.rowHeight), Qt::AlignVCenter | Qt::AlignLeft,
                          elidedName(paintedName(bar.name), QFontMetricsF(painter->font()), rows.nameWidth));
        const double from = bar.total ? 0 : at;
        at = after(bar, at);
        if (i + 1 < bars().size()) {
            painter->setPen(QPen(p.border, 1));
            const double x = rows.x(at);
            painter->drawLine(QPointF(x, y + rows.rowHeight - 5), QPointF(x, y + rows.rowHeight + 5));
        }
        paintBar(painter, bar, rows, y, from);
    }
    paintAxisBelow(painter, p, rows.plot, rows.low, rows.high, ticks, m_axis);
}

QString Waterfall::hint(const QPointF &position) const {
    const int row = layOut(rect()).rowAt(position, bars().size());
    if (row < 0)
        return {};
    const WaterfallBar &bar = bars()[row];
    QString out = QStringLiteral("<b>%1</b> %2").arg(bar.name.toHtmlEscaped(), textOf(bar));
    if (!bar.total && bar.high > bar.low)
        out += tr(", 95 % interval %1 to %2")
                   .arg(core::addedSeconds(bar.low, whole()), core::addedSeconds(bar.high, whole())) +
               (bar.isDoubtful() ? tr(": these repeats can't tell it from zero") : QString());
    return bar.hint.isEmpty() ? out : out + QStringLiteral("<br>") + bar.hint.toHtmlEscaped();
}

QString Waterfall::chartData() const {
    QString out = QStringLiteral("row\tseconds\tlow_s\thigh_s\ttotal\n");
    for (const WaterfallBar &bar : bars())
        out +=
            QStringLiteral("%1\t%2\t%3\t%4\t%5\n")
                .arg(bar.name, QString::number(bar.seconds, 'g', 9), QString::number(bar.low, 'g', 9),
                     QString::number(bar.high, 'g', 9), bar.total ? QStringLiteral("true") : QStringLiteral("false"));
    return out;
}

} // namespace lockstep::ui

#include "moc_waterfall.cpp"
