// SPDX-License-Identifier: MIT
// How Live turns core's models into its line charts.
#include <QCheckBox>

#include <algorithm>

#include "analysis/compare/result_table.h"
#include "analysis/history/run_marks.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/live/metric_card.h"
#include "app/ui/pages/shared/run_nodes_card.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "base/format.h"
#include "ipc/median.h"
#include "models/live_figures.h"
#include "store/run_progress.h"

namespace lockstep::ui {

using core::RunCurves;
using core::RunStore;

CurveView LivePage::curveView() const {
    return {m_side->axis(), m_side->axisTitle(), m_side->smoothing()};
}

/// The most that any shown run will have, as far as it is known.
double LivePage::shownEpochs() const {
    int most = 1;
    for (const RunLook &look : m_looks)
        if (look.shown)
            most = std::max(most, core::progressOf(*runs().at(look.index)).epochs.value_or(1));
    return most;
}

void LivePage::drawLoss() {
    const CurveView view = curveView();
    RunCurves &curves = m_workspace.curves();
    QList<LineData> lines = curveLines(curves, m_looks, view, [&](int run) {
        const auto epochs = curves.epochPoints(run, view.axis);
        return epochs.isEmpty() ? QString() : core::significant(epochs.constLast().y());
    });
    if (view.axis == RunCurves::XAxis::Epoch && showPublished())
        addPublished(lines, false);
    setCurveAxes(*m_loss, view, tr("cross-entropy"), shownEpochs());
    m_loss->setLines(lines);
    if (!m_loss->marks().isEmpty() || m_loss->lines().isEmpty())
        drawMarks();
}

/// Without a metric among the shown runs the card goes.
void LivePage::drawMetric() {
    m_metricCard->draw(m_looks, curveView(), shownEpochs());
    m_metricCard->setVisible(!m_metricCard->isEmpty() && m_pictureActions.value(QStringLiteral("metric"))->isChecked());
}

ChartMark LivePage::chartMark(const RunLook &look, const core::RunMark &mark) const {
    using Kind = core::RunMark::Kind;
    const Palette &p = m_theme.palette();
    ChartMark out;
    out.kind = mark.kind == Kind::Checkpoint ? ChartMark::Kind::Checkpoint
               : mark.kind == Kind::Restart  ? ChartMark::Kind::Restart
               : mark.kind == Kind::EpochEnd ? ChartMark::Kind::EpochEnd
                                             : ChartMark::Kind::Alert;
    out.color = mark.error ? p.wrong : mark.kind == Kind::Checkpoint ? look.color : p.textSecondary;
    out.text = tr("%1, %2: %3").arg(look.name, core::clockTime(mark.wallUs).left(8), QString::fromStdString(mark.text));
    out.runId = look.runId;
    out.wallUs = mark.wallUs;
    return out;
}

void LivePage::drawMarks() {
    const RunCurves::XAxis axis = m_side->axis();
    QList<ChartMark> onLoss, onDurations;
    for (const RunLook &look : m_looks) {
        if (!look.shown)
            continue;
        for (const core::RunMark &mark : core::runMarks(*runs().at(look.index))) {
            const auto at = m_workspace.curves().placeOf(look.index, axis, mark.wallUs);
            const auto epoch = m_workspace.curves().placeOf(look.index, RunCurves::XAxis::Epoch, mark.wallUs);
            ChartMark out = chartMark(look, mark);
            if (at) {
                out.x = *at;
                onLoss.append(out);
            }
            if (epoch && mark.kind != core::RunMark::Kind::Checkpoint) { // one after each epoch would be on every tick
                out.x = std::max(1.0, std::ceil(*epoch - 1e-9));
                onDurations.append(out);
            }
        }
    }
    m_loss->setMarks(onLoss);
    m_duration->setMarks(onDurations);
}

/// The publication's curves, dotted: its losses, or its epochs' durations.
void LivePage::addPublished(QList<LineData> &lines, bool durations) const {
    for (const core::PublishedRun &run : m_workspace.experiment()->recipe.published->runs) {
        LineData line;
        line.key = QStringLiteral("published ") + QString::fromStdString(run.name);
        line.name = tr("publ. %1").arg(QString::fromStdString(run.name));
        line.color = methodColor(QString::fromStdString(run.method));
        line.style = Qt::DotLine;
        for (const core::PublishedEpoch &epoch : run.epochs)
            if (const auto value = durations ? epoch.durationS : epoch.loss)
                line.points.append({double(epoch.epoch), *value});
        if (line.points.isEmpty())
            continue;
        if (durations)
            line.endText = core::seconds(line.points.constLast().y());
        lines.append(line);
    }
}

void LivePage::drawDuration() {
    QList<LineData> lines, published;
    QList<BarData> bars;
    double last = 2;
    for (const RunLook &look : m_looks) {
        if (!look.shown)
            continue;
        const RunStore *store = runs().at(look.index);
        LineData line = lineOf(look);
        line.markers = true;
        for (const core::MergedEpoch &epoch : store->epochs().merged())
            if (epoch.complete)
                line.points.append({double(epoch.epoch), epoch.durationS});
        if (!line.points.isEmpty())
            line.endText = core::seconds(line.points.constLast().y());
        last = std::max(last, double(core::progressOf(*store).epochs.value_or(1)));
        lines.append(line);
        if (look.latest) {
            const auto median = core::medianEpochS(*store);
            bars.append({look.name, look.color, false, median,
                         median ? core::seconds(median) + (store->over() ? QString() : tr(" (live)"))
                                : tr("no epoch complete yet"),
                         tr("Median over the complete epochs of the newest repeat")});
        }
    }
    if (showPublished())
        addPublished(published, true);
    for (const LineData &line : published) {
        last = std::max(last, line.points.constLast().x());
        std::vector<double> all;
        for (const QPointF &p : line.points)
            all.push_back(p.y());
        const auto median = lockstep::median(all);
        bars.append({line.name, line.color, true, median, core::seconds(median),
                     tr("Median of the published epochs, %1")
                         .arg(QString::fromStdString(m_workspace.experiment()->recipe.published->machine))});
    }
    m_duration->setXRange(1, last);
    m_duration->setLines(lines + published);
    m_medians->setBars(bars);
}

/// Of the runs that are ticked; without one over nodes the card goes.
void LivePage::drawNodes() {
    std::vector<const RunStore *> shown;
    for (const RunStore *run : runs().stores())
        if (m_workspace.pictured().choice().isShown(run->runId()))
            shown.push_back(run);
    m_nodes->setRuns(shown);
    m_nodes->setVisible(!m_nodes->isEmpty() && m_pictureActions.value(QStringLiteral("nodes"))->isChecked());
}

} // namespace lockstep::ui
