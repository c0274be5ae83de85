#include "app/ui/charts/waterfall.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "analysis/format.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

constexpr double axisHeight = 34, gap = 8;

QString valueText(const WaterfallBar &bar) {
    if (bar.total)
        return core::significant(bar.seconds) + QStringLiteral(" s");
    if (bar.seconds == 0)
        return QStringLiteral("0 s");
    const QString sign = bar.seconds < 0 ? QStringLiteral("\u2212") : QStringLiteral("+");
    return sign + core::significant(std::abs(bar.seconds)) + QStringLiteral(" s");
}

double after(const WaterfallBar &bar, double before) {
    return bar.total ? bar.seconds : before + bar.seconds;
}

} // namespace

Waterfall::Waterfall(const Theme &theme, QString name, QWidget *parent)
    : PaintedChart(theme, std::move(name), parent) {}

void Waterfall::setBars(const QList<WaterfallBar> &bars) {
    if (bars == m_bars)
        return;
    const bool resized = bars.size() != m_bars.size();
    m_bars = bars;
    if (resized)
        updateGeometry();
    update();
}

QSize Waterfall::sizeHint() const {
    return {480, int(axisHeight) + int(std::max<qsizetype>(4, m_bars.size())) * 28};
}

Waterfall::Layout Waterfall::layOut(const QRectF &area) const {
    const QFontMetricsF names(Theme::font(Type::Small, QFont::DemiBold)),
        values(Theme::figures(Type::Small, QFont::DemiBold));
    Layout out;
    double at = 0, low = 0, high = 0;
    for (const WaterfallBar &bar : m_bars) {
        out.nameWidth = std::max(out.nameWidth, names.horizontalAdvance(bar.name));
        out.valueWidth = std::max(out.valueWidth, values.horizontalAdvance(valueText(bar)));
        const double before = bar.total ? 0 : at;
        for (const double end : {before, before + bar.seconds, before + bar.low, before + bar.high}) {
            low = std::min(low, end);
            high = std::max(high, end);
        }
        at = after(bar, at);
    }
    out.nameWidth = std::min(out.nameWidth + 2, area.width() * 0.36);
    out.lowS = low;
    out.highS = high > low ? high : low + 1;
    const double count = double(std::max<qsizetype>(1, m_bars.size()));
    out.rowHeight = std::clamp((area.height() - axisHeight) / count, 18.0, 40.0);
    const double left = area.left() + out.nameWidth + gap;
    out.plot =
        QRectF(left, area.top(), std::max(40.0, area.right() - out.valueWidth - 2 * gap - left), out.rowHeight * count);
    return out;
}

void Waterfall::paintBar(QPainter *painter, const WaterfallBar &bar, const Layout &layout, double y,
                         double from) const {
    const Palette &p = theme().palette();
    const double to = bar.total ? bar.seconds : from + bar.seconds;
    const double left = layout.x(std::min(from, to)), right = layout.x(std::max(from, to));
    const QRectF box(left, y + 5, std::max(1.5, right - left), layout.rowHeight - 10);
    if (bar.unattributed) {
        painter->setPen(QPen(p.textMuted, 1.2, Qt::DotLine));
        painter->drawRect(box);
    } else if (bar.total || bar.seconds < 0) {
        painter->fillRect(box, bar.total ? bar.color : mix(p.surface, bar.color, 0.74));
    } else {
        painter->fillRect(box, mix(p.surface, p.textMuted, 0.22));
        painter->save();
        painter->setClipRect(box, Qt::IntersectClip);
        painter->setPen(QPen(mix(p.surface, p.textMuted, 0.8), 1.2));
        for (double x = box.left() - box.height(); x < box.right(); x += 6)
            painter->drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
        painter->restore();
    }
    double end = box.right();
    if (!bar.total && bar.high > bar.low) {
        const double low = layout.x(from + bar.low), high = layout.x(from + bar.high), middle = box.center().y();
        painter->setPen(QPen(p.text, 1));
        painter->drawLine(QPointF(low, middle), QPointF(high, middle));
        for (const double x : {low, high})
            painter->drawLine(QPointF(x, middle - 4), QPointF(x, middle + 4));
        end = std::max(end, high);
    }
    painter->setFont(Theme::figures(Type::Small, QFont::DemiBold));
    const QString text = valueText(bar);
    const QRectF place(end + gap, y, layout.valueWidth + 2, layout.rowHeight);
    painter->fillRect(QRectF(place.left() - 2, y + 4, QFontMetricsF(painter->font()).horizontalAdvance(text) + 4,
                             layout.rowHeight - 8),
                      p.surface); // the value reads over a connecting line
    painter->setPen(p.text);
    painter->drawText(place, Qt::AlignVCenter | Qt::AlignLeft, text);
}

void Waterfall::paintChart(QPainter *painter, const QRectF &area) {
    const Palette &p = theme().palette();
    const Layout layout = layOut(area);
    const Ticks ticks =
        niceTicks(layout.lowS, layout.highS, std::clamp(int(layout.plot.width() / 80), 2, 6), layout.lowS == 0);
    painter->setFont(Theme::figures(Type::Small));
    for (qsizetype i = 0; i < ticks.at.size(); ++i) {
        const double x = layout.x(ticks.at[i]);
        if (x > layout.plot.right() + 1)
            continue;
        painter->setPen(QPen(p.grid, 1));
        painter->drawLine(QPointF(x, layout.plot.top()), QPointF(x, layout.plot.bottom()));
        painter->setPen(p.textMuted);
        painter->drawText(QRectF(x - 40, layout.plot.bottom() + 4, 80, 14), Qt::AlignCenter, ticks.labels[i]);
    }
    double at = 0;
    for (qsizetype i = 0; i < m_bars.size(); ++i) {
        const WaterfallBar &bar = m_bars[i];
        const double y = layout.plot.top() + double(i) * layout.rowHeight;
        painter->setFont(Theme::font(Type::Small, bar.total ? QFont::DemiBold : QFont::Normal));
        painter->setPen(bar.total ? p.text : p.textSecondary);
        painter->drawText(QRectF(area.left(), y, layout.nameWidth, layout.rowHeight), Qt::AlignVCenter | Qt::AlignLeft,
                          QFontMetricsF(painter->font()).elidedText(bar.name, Qt::ElideRight, layout.nameWidth));
        const double from = bar.total ? 0 : at;
        at = after(bar, at);
        if (i + 1 < m_bars.size()) {
            painter->setPen(QPen(p.border, 1));
            const double x = layout.x(at);
            painter->drawLine(QPointF(x, y + layout.rowHeight - 5), QPointF(x, y + layout.rowHeight + 5));
        }
        paintBar(painter, bar, layout, y, from);
    }
    painter->setPen(p.textMuted);
    painter->setFont(Theme::font(Type::Small));
    painter->drawText(QRectF(layout.plot.left(), layout.plot.bottom() + 18, layout.plot.width(), 16), Qt::AlignCenter,
                      tr("run time / s, launch to exit"));
}

QString Waterfall::hint(const QPointF &position) const {
    const Layout layout = layOut(rect());
    const int row = int((position.y() - layout.plot.top()) / layout.rowHeight);
    if (position.y() < layout.plot.top() || row < 0 || row >= m_bars.size())
        return {};
    const WaterfallBar &bar = m_bars[row];
    QString out = QStringLiteral("<b>%1</b> %2").arg(bar.name.toHtmlEscaped(), valueText(bar));
    if (!bar.total && bar.high > bar.low)
        out += tr(" (%1 to %2 s by the order in which the settings are changed)")
                   .arg(core::significant(bar.low), core::significant(bar.high));
    return bar.hint.isEmpty() ? out : out + QStringLiteral("<br>") + bar.hint.toHtmlEscaped();
}

QString Waterfall::chartData() const {
    QString out = QStringLiteral("row\tseconds\tlow_s\thigh_s\ttotal\n");
    for (const WaterfallBar &bar : m_bars)
        out += QStringLiteral("%1\t%2\t%3\t%4\t%5\n")
                   .arg(bar.name)
                   .arg(bar.seconds, 0, 'g', 9)
                   .arg(bar.low, 0, 'g', 9)
                   .arg(bar.high, 0, 'g', 9)
                   .arg(bar.total ? QStringLiteral("true") : QStringLiteral("false"));
    return out;
}

} // namespace lockstep::ui
