// SPDX-License-Identifier: MIT
#include "app/ui/charts/phase_bars.h"

#include <QFontMetricsF>
#include <QHash>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

enum class Look { Load, Compute, Communicate, Rest };

Look lookOf(const QString &phase) {
    static const QHash<QString, Look> looks = {{"load", Look::Load},
                                               {"h2d", Look::Load},
                                               {"forward", Look::Compute},
                                               {"backward", Look::Compute},
                                               {"optimizer", Look::Compute},
                                               {"parallel_forward", Look::Compute},
                                               {"loss", Look::Compute},
                                               {"parallel_backward", Look::Compute},
                                               {"exposed", Look::Communicate},
                                               {"comm", Look::Communicate},
                                               {"wait", Look::Communicate},
                                               {"scatter", Look::Communicate},
                                               {"replicate", Look::Communicate},
                                               {"gather", Look::Communicate},
                                               {"reduce", Look::Communicate}};
    return looks.value(phase, Look::Rest);
}

/// The phase that a nested one lies in, and nested ones in the order they happen.
QString parentOf(const QString &nested) {
    if (nested == QLatin1String("wait"))
        return QStringLiteral("exposed");
    return nested == QLatin1String("parallel_backward") || nested == QLatin1String("reduce")
               ? QStringLiteral("backward")
               : QStringLiteral("forward");
}

double totalOf(const PhaseBar &bar) {
    double sum = 0;
    for (const PhasePart &part : bar.parts)
        sum += part.seconds;
    return sum;
}

QString shortName(const QString &phase) {
    static const QHash<QString, QString> names = {{"forward", "fwd"},          {"backward", "bwd"},
                                                  {"optimizer", "opt"},        {"exposed", "exposed"},
                                                  {"parallel_forward", "fwd"}, {"parallel_backward", "bwd"}};
    return names.value(phase, phase);
}

QColor fillOf(const PhaseBar &bar, const QString &phase, const Palette &p) {
    switch (lookOf(phase)) {
    case Look::Load:
        return mix(p.surface, bar.color, 0.28);
    case Look::Compute:
        // Neighbours differ in depth so that their border shows.
        return mix(p.surface, bar.color, phase.contains(QLatin1String("backward")) ? 1.0 : 0.74);
    case Look::Communicate:
        return mix(p.surface, bar.color, 0.14);
    case Look::Rest:
        break;
    }
    return mix(p.surface, p.textMuted, 0.16);
}

void paintPart(QPainter *painter, const QRectF &box, const QColor &fill, bool hatched, const QColor &ink) {
    painter->fillRect(box, fill);
    if (hatched)
        hatch(painter, box, ink);
}

} // namespace

QString phaseKey() {
    return QObject::tr("pale: loading, solid: compute, hatched: communication");
}

QString phaseMeaning(const QString &phase) {
    static const QHash<QString, QString> meanings = {
        {"load", QObject::tr("waiting for the next batch from the loader")},
        {"h2d", QObject::tr("copying the batch to the device")},
        {"forward", QObject::tr("computing outputs and loss")},
        {"backward", QObject::tr("computing gradients, until the last one is ready")},
        {"exposed", QObject::tr("communication left after backward: the part that overlaps nothing")},
        {"optimizer", QObject::tr("updating the parameters")},
        {"other", QObject::tr("the rest of the loop: total minus all other phases")},
        {"comm", QObject::tr("all communication, hidden behind backward or not")},
        {"wait", QObject::tr("the part of exposed spent waiting for slower ranks: latest rank's ready − own")},
        {"scatter", QObject::tr("DP: splitting the batch over the devices")},
        {"replicate", QObject::tr("DP: copying the parameters to every device")},
        {"parallel_forward", QObject::tr("DP: forward on all replicas")},
        {"gather", QObject::tr("DP: collecting the outputs on device 0")},
        {"loss", QObject::tr("DP: computing the loss on device 0")},
        {"parallel_backward", QObject::tr("DP: backward on all replicas")},
        {"reduce", QObject::tr("DP: adding the replicas' gradients on device 0")}};
    return meanings.value(phase);
}

PhaseBars::PhaseBars(const Theme &theme, QString name, QWidget *parent)
    : RowsChart(theme, std::move(name), 3, 34, parent) {}

BarRows PhaseBars::layOut(const QRectF &area) const {
    const QFontMetricsF names(Theme::font(Type::Small, QFont::DemiBold)),
        values(Theme::figures(Type::Small, QFont::DemiBold));
    BarRows out;
    double longest = 0;
    for (const PhaseBar &bar : bars()) {
        out.nameWidth = std::max(out.nameWidth, names.horizontalAdvance(bar.label));
        out.valueWidth = std::max(
            out.valueWidth, values.horizontalAdvance(core::significant(totalOf(bar) * 1e3) + QStringLiteral(" ms")));
        longest = std::max(longest, totalOf(bar));
    }
    out.nameWidth = std::min(out.nameWidth + 2, area.width() * 0.36);
    out.high = longest > 0 ? longest * 1e3 : 1;
    out.place(area, bars().size(), 240);
    return out;
}

void PhaseBars::paintBar(QPainter *painter, const PhaseBar &bar, const BarRows &rows, double y) const {
    const Palette &p = theme().palette();
    const bool withNested = !bar.nested.isEmpty() && rows.rowHeight >= 26;
    const double height = rows.rowHeight - 6, scale = rows.plot.width() / rows.high * 1e3;
    const double mainHeight = withNested ? height * 0.68 : height;
    painter->setFont(Theme::font(Type::Small));
    const QFontMetricsF metrics(painter->font());
    double x = rows.plot.left();
    for (const PhasePart &part : bar.parts) {
        const QRectF box(x, y + 3, part.seconds * scale, mainHeight);
        const QColor fill = fillOf(bar, part.phase, p);
        paintPart(painter, box, fill, lookOf(part.phase) == Look::Communicate, mix(p.surface, bar.color, 0.6));
        painter->fillRect(QRectF(box.right() - 1, box.top(), 1, box.height()), p.surface);
        const QString name = shortName(part.phase);
        const bool hatched = lookOf(part.phase) == Look::Communicate; // whose plate must leave some hatching to see
        if (metrics.horizontalAdvance(name) + (hatched ? 32 : 4) < box.width() && box.height() >= 12) {
            if (hatched) { // a plate under the name: letters on hatching don't read
                const double width = metrics.horizontalAdvance(name) + 6;
                painter->fillRect(QRectF(box.center().x() - width / 2, box.top() + 1, width, box.height() - 2), fill);
            }
            const QColor ink("#14171C"), paper("#FFFFFF");
            painter->setPen(contrastRatio(fill, ink) > contrastRatio(fill, paper) ? ink : paper);
            painter->drawText(box, Qt::AlignCenter, name);
        }
        x += box.width();
    }
    if (withNested) {
        QHash<QString, double> starts;
        x = rows.plot.left();
        for (const PhasePart &part : bar.parts) {
            starts.insert(part.phase, x);
            x += part.seconds * scale;
        }
        for (const PhasePart &part : bar.nested) {
            double &at = starts[parentOf(part.phase)];
            const QRectF box(std::max(at, rows.plot.left()), y + 3 + mainHeight + 1, part.seconds * scale,
                             height - mainHeight - 1);
            paintPart(painter, box, fillOf(bar, part.phase, p), lookOf(part.phase) == Look::Communicate,
                      mix(p.surface, bar.color, 0.6));
            painter->fillRect(QRectF(box.right() - 1, box.top(), 1, box.height()), p.surface);
            at = box.right();
        }
    }
}

void PhaseBars::paintChart(QPainter *painter, const QRectF &area) {
    const Palette &p = theme().palette();
    const BarRows rows = layOut(area);
    const QFont bold = Theme::font(Type::Small, QFont::DemiBold),
                figures = Theme::figures(Type::Small, QFont::DemiBold);
    for (qsizetype i = 0; i < bars().size(); ++i) {
        const PhaseBar &bar = bars()[i];
        const double y = rows.y(i);
        painter->setFont(bold);
        painter->setPen(p.text);
        painter->drawText(QRectF(area.left(), y, rows.nameWidth, rows.rowHeight), Qt::AlignVCenter | Qt::AlignLeft,
                          QFontMetricsF(bold).elidedText(bar.label, Qt::ElideMiddle, rows.nameWidth));
        paintBar(painter, bar, rows, y);
        painter->setFont(figures);
        painter->setPen(p.text);
        painter->drawText(QRectF(rows.x(totalOf(bar) * 1e3) + BarRows::gap, y, rows.valueWidth + 2, rows.rowHeight),
                          Qt::AlignVCenter | Qt::AlignLeft,
                          core::significant(totalOf(bar) * 1e3) + QStringLiteral(" ms"));
    }
    const QString title = tr("time per step / ms"), legend = title + QStringLiteral(" · ") + phaseKey();
    const bool room = QFontMetricsF(Theme::font(Type::Small)).horizontalAdvance(legend) < rows.plot.width();
    paintAxisBelow(painter, p, rows.plot, 0, rows.high,
                   niceTicks(0, rows.high, std::clamp(int(rows.plot.width() / 80), 2, 6), false),
                   room ? legend : title);
}

QString PhaseBars::hint(const QPointF &position) const {
    const int row = layOut(rect()).rowAt(position, bars().size());
    if (row < 0)
        return {};
    const PhaseBar &bar = bars()[row];
    const double total = totalOf(bar);
    QString out = QStringLiteral("<b>%1</b> · %2 ms").arg(bar.label.toHtmlEscaped(), core::significant(total * 1e3)) +
                  tr(" a step");
    const auto add = [&](const PhasePart &part, const QString &indent) {
        out += QStringLiteral("<br>%1<b>%2</b> %3 ms (%4 %) - %5")
                   .arg(indent, part.phase, core::significant(part.seconds * 1e3),
                        QString::number(total > 0 ? part.seconds / total * 100 : 0, 'f', 0), phaseMeaning(part.phase));
    };
    for (const PhasePart &part : bar.parts)
        add(part, {});
    for (const PhasePart &part : bar.nested)
        add(part, QStringLiteral("&nbsp;&nbsp;"));
    return out;
}

QString PhaseBars::chartData() const {
    QString out = QStringLiteral("row\tphase\ttime_per_step_s\tnested\n");
    for (const PhaseBar &bar : bars()) {
        for (const PhasePart &part : bar.parts)
            out += QStringLiteral("%1\t%2\t%3\tfalse\n").arg(bar.label, part.phase).arg(part.seconds, 0, 'g', 9);
        for (const PhasePart &part : bar.nested)
            out += QStringLiteral("%1\t%2\t%3\ttrue\n").arg(bar.label, part.phase).arg(part.seconds, 0, 'g', 9);
    }
    return out;
}

} // namespace lockstep::ui
