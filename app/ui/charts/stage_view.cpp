// SPDX-License-Identifier: MIT
#include "app/ui/charts/stage_view.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

#include "analysis/causes/pipeline_step.h"
#include "app/ui/charts/phase_style.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

constexpr double stageRow = 30, highestStageRow = 56;

QString phaseOf(const StageWork &work) {
    return QString::fromStdString(work.phase);
}

/// Not called busy: that is a device's utilisation, and counts waiting for messages.
QString computingText(const StageBar &bar) {
    return QObject::tr("computing %1").arg(core::percent(bar.busyS / bar.stepS, 0));
}

/// Backward solid, forward pale: there are many small boxes, and one colour for all.
QColor fillOf(const StageWork &work, const QColor &color, const Palette &palette) {
    return mix(palette.surface, color, work.phase == phase::forward ? 0.4 : 1.0);
}

} // namespace

QList<StageBar> stageBars(const core::PipelineStep &step, const QString &run, const QColor &color,
                          const RunHighlight::Run &whose) {
    QList<StageBar> out;
    for (const core::PipelineStage &stage : step.stages)
        out.append({run, QString::fromStdString(stage.device), color, stage.work, stage.busyS, step.lengthS,
                    !out.isEmpty(), whose});
    return out;
}

void IdleNote::add(const QString &run, const core::PipelineStep &step) {
    m_runs.append({paintedName(run), core::percent(step.idle, 0), core::percent(step.balancedIdle, 0)});
}

QString IdleNote::text() const {
    if (m_runs.size() == 1)
        return QObject::tr("idle %1; balanced %2").arg(m_runs.front().idle, m_runs.front().balanced);
    QStringList runs;
    for (const Shares &one : m_runs)
        runs.append(QObject::tr("%1 %2 (%3)").arg(one.run, one.idle, one.balanced));
    return runs.isEmpty() ? QString() : QObject::tr("idle (balanced): ") + runs.join(QStringLiteral(", "));
}

QString StageView::title() {
    return tr("A step of the pipeline");
}

QString StageView::explanation() {
    return tr("When each stage computes in a mean step, micro-batch by micro-batch. A stage waits until the one before "
              "has sent its activations, or the one after their gradients. Idle: its share of the time; balanced: what "
              "equally long stages would have");
}

StageView::StageView(const Theme &theme, QString name, QWidget *parent)
    : RowsChart(theme, std::move(name), 2, stageRow, parent) {}

QList<RowName> StageView::names() const {
    const Palette &p = theme().palette();
    QList<RowName> out;
    for (const StageBar &bar : bars())
        out.append({bar.run, bar.device, shadeOf(p.text, bar.whose.name), shadeOf(p.textSecondary, bar.whose.name),
                    bar.further});
    return out;
}

BarRows StageView::layOut(const QRectF &area) const {
    const QFontMetricsF small(Theme::font(Type::Small));
    BarRows out;
    out.nameWidth = nameColumn(names(), area.width());
    double longest = 0;
    for (const StageBar &bar : bars()) {
        out.valueWidth = std::max(out.valueWidth, small.horizontalAdvance(computingText(bar)));
        longest = std::max(longest, bar.stepS);
    }
    out.high = longest > 0 ? longest * 1e3 : 1;
    out.place(area, bars().size(), highestStageRow, leastRow());
    return out;
}

void StageView::paintWork(QPainter *painter, const StageBar &bar, const BarRows &rows, double y) const {
    const Palette &p = theme().palette();
    const QColor color = shadeOf(bar.color, bar.whose.name);
    const double middle = y + rows.rowHeight / 2;
    painter->fillRect(QRectF(QPointF(rows.x(0), middle - 0.5), QPointF(rows.x(bar.stepS * 1e3), middle + 0.5)),
                      mix(p.border, p.textMuted, 0.4));
    painter->setFont(Theme::font(Type::Small));
    const QFontMetricsF metrics(painter->font());
    for (const StageWork &work : bar.work) {
        const double left = rows.x(work.startS * 1e3);
        const QRectF box(left, y + 3, rows.x(work.endS * 1e3) - left, rows.rowHeight - 6);
        const QColor fill = fillOf(work, color, p);
        painter->fillRect(box, fill);
        if (box.width() > 3)
            painter->fillRect(QRectF(box.right() - 1, box.top(), 1, box.height()), p.surface);
        if (const QString number = QString::number(work.microBatch + 1);
            metrics.horizontalAdvance(number) + 4 < box.width())
            paintPhaseName(painter, box, number, phaseOf(work), fill);
    }
}

void StageView::paintChart(QPainter *painter, const QRectF &area) {
    const Palette &p = theme().palette();
    const BarRows rows = layOut(area);
    paintRowNames(painter, area.left(), rows, names());
    for (qsizetype i = 0; i < bars().size(); ++i) {
        const StageBar &bar = bars()[i];
        paintWork(painter, bar, rows, rows.y(i));
        painter->setFont(Theme::font(Type::Small));
        painter->setPen(shadeOf(p.textSecondary, bar.whose.name));
        painter->drawText(QRectF(rows.plot.right() + BarRows::gap, rows.y(i), rows.valueWidth + 2, rows.rowHeight),
                          int(Qt::AlignVCenter | Qt::AlignLeft) | Qt::TextDontClip, computingText(bar));
    }
    const QString title = tr("time / ms"),
                  legend = title + tr(" · pale: forward, solid: backward, number: micro-batch, line: waits");
    const bool room = QFontMetricsF(Theme::font(Type::Small)).horizontalAdvance(legend) < rows.plot.width();
    paintAxisBelow(painter, p, rows.plot, 0, rows.high,
                   niceTicks(0, rows.high, std::clamp(int(rows.plot.width() / 80), 2, 8), false),
                   room ? legend : title);
}

RunHighlight::Run StageView::runAt(const QPointF &position) const {
    const int row = layOut(rect()).rowAt(position, bars().size());
    return row < 0 ? RunHighlight::Run() : bars()[row].whose;
}

QString StageView::hint(const QPointF &position) const {
    const BarRows rows = layOut(rect());
    const int row = rows.rowAt(position, bars().size());
    if (row < 0)
        return {};
    const StageBar &bar = bars()[row];
    QString out = QStringLiteral("<b>%1 %2</b> · ").arg(bar.run.toHtmlEscaped(), bar.device.toHtmlEscaped()) +
                  tr("%1 of %2 ms").arg(computingText(bar), core::significant(bar.stepS * 1e3));
    const double atS = (position.x() - rows.plot.left()) / rows.plot.width() * rows.high / 1e3;
    for (const StageWork &work : bar.work)
        if (atS >= work.startS && atS < work.endS)
            out += tr("<br><b>%1</b> of micro-batch %2: %3 ms, from %4 ms on")
                       .arg(phaseOf(work))
                       .arg(work.microBatch + 1)
                       .arg(core::significant((work.endS - work.startS) * 1e3), core::significant(work.startS * 1e3));
    return out;
}

QString StageView::chartData() const {
    QString out = QStringLiteral("run\tdevice\tphase\tmicro_batch\tstart_s\tend_s\n");
    for (const StageBar &bar : bars())
        for (const StageWork &work : bar.work)
            out += QStringLiteral("%1\t%2\t%3\t%4\t%5\t%6\n")
                       .arg(bar.run, bar.device, phaseOf(work), QString::number(work.microBatch + 1),
                            QString::number(work.startS, 'g', 9), QString::number(work.endS, 'g', 9));
    return out;
}

} // namespace lockstep::ui

#include "moc_stage_view.cpp"
