// SPDX-License-Identifier: MIT
#include "app/ui/charts/phase_bars.h"

#include <QFontMetricsF>
#include <QHash>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/phase_style.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

/// The phase that a nested one lies in, and nested ones in the order they happen.
QString parentOf(const QString &nested) {
    if (nested == QLatin1String("wait"))
        return QStringLiteral("exposed");
    return nested == QLatin1String("parallel_backward") || nested == QLatin1String("reduce")
               ? QStringLiteral("backward")
               : QStringLiteral("forward");
}

constexpr double leastNested = 20; ///< px: a narrower part of the thin row would be a sliver without a bar

double totalOf(const PhaseBar &bar) {
    double sum = 0;
    for (const PhasePart &part : bar.parts)
        sum += part.seconds;
    return sum;
}

QString runOf(const PhaseBar &bar) {
    return bar.whose.name.isEmpty() ? bar.label : bar.whose.name;
}

/// "rank 0": what the label has besides the run's name.
QString partOf(const PhaseBar &bar) {
    return bar.label.mid(runOf(bar).size()).trimmed();
}

QString phaseAxisTitle() {
    return PhaseBars::tr("time / ms");
}

QString shortName(const QString &phase) {
    static const QHash<QString, QString> names = {{"forward", "fwd"},          {"backward", "bwd"},
                                                  {"optimizer", "opt"},        {"exposed", "exposed"},
                                                  {"parallel_forward", "fwd"}, {"parallel_backward", "bwd"}};
    return names.value(phase, phase);
}

} // namespace

PhaseBars::PhaseBars(const Theme &theme, QString name, QWidget *parent)
    : RowsChart(theme, std::move(name), 3, 34, parent) {}

BarRows PhaseBars::layOut(const QRectF &area) const {
    const QFontMetricsF values(Theme::figures(Type::Small, QFont::DemiBold));
    BarRows out;
    double longest = 0;
    for (const PhaseBar &bar : bars()) {
        out.valueWidth = std::max(
            out.valueWidth, values.horizontalAdvance(core::significant(totalOf(bar) * 1e3) + QStringLiteral(" ms")));
        longest = std::max(longest, totalOf(bar));
    }
    out.nameWidth = nameColumn(names(), area.width());
    out.high = longest > 0 ? longest * 1e3 : 1;
    out.footHeight = phaseFootHeight(area.size(), double(bars().size()) * leastRow(), phaseAxisTitle());
    out.place(area, bars().size(), 240, leastRow());
    return out;
}

void PhaseBars::paintBar(QPainter *painter, const PhaseBar &bar, const BarRows &rows, double y) const {
    const Palette &p = theme().palette();
    const QColor color = shadeOf(bar.color, bar.whose.name);
    const double height = rows.rowHeight - 6, scale = rows.plot.width() / rows.high * 1e3;
    const auto isSeen = [&](const PhasePart &part) { return part.seconds * scale >= leastNested; };
    const bool withNested = rows.rowHeight >= 26 && std::ranges::any_of(bar.nested, isSeen);
    const double mainHeight = withNested ? height * 0.68 : height;
    painter->setFont(Theme::font(Type::Small));
    const QFontMetricsF metrics(painter->font());
    double x = rows.plot.left();
    for (const PhasePart &part : bar.parts) {
        const QRectF box(x, y + 3, part.seconds * scale, mainHeight);
        paintPhase(painter, box, part.phase, color, p);
        const QString name = shortName(part.phase);
        // A plate on hatching must leave some of it to see.
        const bool hatched = phaseStyle(part.phase) == PhaseStyle::Communicate;
        if (metrics.horizontalAdvance(name) + (hatched ? 32 : 4) < box.width() && box.height() >= 12)
            paintPhaseName(painter, box, name, part.phase, phaseFill(part.phase, color, p));
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
            at = box.right();
            if (!isSeen(part))
                continue;
            if (part.phase == QLatin1String("wait")) // a line, as where a step stands by device
                painter->fillRect(QRectF(box.left(), box.center().y() - 0.5, box.width(), 1), p.textMuted);
            else
                paintPhase(painter, box, part.phase, color, p);
        }
    }
}

QList<RowName> PhaseBars::names() const {
    const Palette &p = theme().palette();
    QList<RowName> out;
    for (qsizetype i = 0; i < bars().size(); ++i) {
        const PhaseBar &bar = bars()[i];
        const bool further = i > 0 && !bar.whose.name.isEmpty() && bars()[i - 1].whose == bar.whose;
        out.append({runOf(bar), partOf(bar), shadeOf(p.text, bar.whose.name), shadeOf(p.textSecondary, bar.whose.name),
                    further});
    }
    return out;
}

void PhaseBars::paintChart(QPainter *painter, const QRectF &area) {
    const Palette &p = theme().palette();
    const BarRows rows = layOut(area);
    const QFont figures = Theme::figures(Type::Small, QFont::DemiBold);
    paintRowNames(painter, area.left(), rows, names());
    for (qsizetype i = 0; i < bars().size(); ++i) {
        const PhaseBar &bar = bars()[i];
        const double y = rows.y(i);
        paintBar(painter, bar, rows, y);
        painter->setFont(figures);
        painter->setPen(shadeOf(p.text, bar.whose.name));
        painter->drawText(QRectF(rows.x(totalOf(bar) * 1e3) + BarRows::gap, y, rows.valueWidth + 2, rows.rowHeight),
                          Qt::AlignVCenter | Qt::AlignLeft,
                          core::significant(totalOf(bar) * 1e3) + QStringLiteral(" ms"));
    }
    paintAxisBelow(painter, p, rows.plot, 0, rows.high,
                   niceTicks(0, rows.high, std::clamp(int(rows.plot.width() / 80), 2, 6), false), {});
    paintPhaseFoot(painter, area, rows.plot, phaseAxisTitle(), rows.footHeight, p);
}

double PhaseBars::leastRow() const {
    const QFontMetricsF metrics(Theme::font(Type::Small, QFont::DemiBold));
    const bool two = std::ranges::any_of(bars(), [&](const PhaseBar &bar) { // ranks share their run's name
        return partOf(bar).isEmpty() && metrics.horizontalAdvance(paintedName(runOf(bar))) > BarRows::longName;
    });
    return two ? 2 * nameLine + 4 : BarRows::leastRow;
}

RunHighlight::Run PhaseBars::runAt(const QPointF &position) const {
    const int row = layOut(rect()).rowAt(position, bars().size());
    return row < 0 ? RunHighlight::Run() : bars()[row].whose;
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
            out +=
                QStringLiteral("%1\t%2\t%3\tfalse\n").arg(bar.label, part.phase, QString::number(part.seconds, 'g', 9));
        for (const PhasePart &part : bar.nested)
            out +=
                QStringLiteral("%1\t%2\t%3\ttrue\n").arg(bar.label, part.phase, QString::number(part.seconds, 'g', 9));
    }
    return out;
}

} // namespace lockstep::ui

#include "moc_phase_bars.cpp"
