// How Live turns core's models into its four pictures.
#include <QCheckBox>
#include <QComboBox>
#include <QSlider>

#include <algorithm>

#include "analysis/format.h"
#include "analysis/result_table.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/charts/smoothing.h"
#include "app/ui/pages/live_page.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "models/roles.h"

namespace lockstep::ui {

using core::CurveModel;
using core::RunStore;

void LivePage::drawLoss() {
    const bool byEpoch = m_axis->currentIndex() == 0;
    const auto axis = byEpoch                       ? CurveModel::XAxis::Epoch
                      : m_axis->currentIndex() == 1 ? CurveModel::XAxis::Step
                                                    : CurveModel::XAxis::RunTime;
    m_loss->setAxisTitles(byEpoch                           ? tr("epoch")
                          : axis == CurveModel::XAxis::Step ? tr("step")
                                                            : tr("time since the first step / s"),
                          tr("cross-entropy"));
    m_loss->setWholeX(axis != CurveModel::XAxis::RunTime);
    const double weight = std::min(0.99, m_smooth->value() / 100.0);
    QList<LineData> faint, lines;
    double xEnd = 1;
    for (const RunLook &look : m_looks) {
        LineData line;
        line.key = look.runId;
        line.name = look.name;
        line.color = look.color;
        line.style = look.style;
        line.labelled = look.latest;
        line.points = m_workspace.curves().points(look.index, axis);
        const core::Progress progress = m_workspace.runs().at(look.index)->progress();
        if (byEpoch && progress.epochs)
            xEnd = std::max(xEnd, double(*progress.epochs));
        if (weight > 0 && line.points.size() > 2) {
            if (look.latest) {
                LineData raw = line;
                raw.key += QStringLiteral(" raw");
                raw.faint = true;
                raw.style = Qt::SolidLine;
                faint.append(raw);
            }
            // A hundredth of the slider's odds of what is drawn: from nothing to about a quarter of the axis.
            const double span = line.points.constLast().x() - line.points.constFirst().x();
            line.points = smoothedAlongX(line.points, weight / (1 - weight) * span / 400);
        }
        if (const auto epochs = m_workspace.curves().epochPoints(look.index, axis); !epochs.isEmpty())
            line.endText = core::significant(epochs.constLast().y());
        lines.append(line);
    }
    if (byEpoch && showPublished())
        for (const core::PublishedRun &run : m_workspace.experiment()->recipe.published->runs) {
            LineData line;
            line.key = QStringLiteral("published ") + QString::fromStdString(run.name);
            line.name = tr("publ. %1").arg(QString::fromStdString(run.name));
            line.color = methodColor(QString::fromStdString(run.method));
            line.style = Qt::DotLine;
            for (const core::PublishedEpoch &epoch : run.epochs)
                if (epoch.loss)
                    line.points.append({double(epoch.epoch), *epoch.loss});
            if (!line.points.isEmpty())
                lines.append(line);
        }
    if (byEpoch)
        m_loss->setXRange(0, xEnd);
    else
        m_loss->setXRange(0, std::nullopt);
    m_loss->setLines(faint + lines);
}

void LivePage::drawDuration() {
    QList<LineData> lines;
    QList<BarData> bars;
    double last = 2;
    for (const RunLook &look : m_looks) {
        LineData line;
        line.key = look.runId;
        line.name = look.name;
        line.color = look.color;
        line.style = look.style;
        line.labelled = look.latest;
        line.markers = true;
        for (const core::MergedEpoch &epoch : m_workspace.runs().at(look.index)->epochs())
            if (epoch.complete)
                line.points.append({double(epoch.epoch), epoch.durationS});
        if (!line.points.isEmpty())
            line.endText = core::seconds(line.points.constLast().y());
        const core::Progress progress = m_workspace.runs().at(look.index)->progress();
        last = std::max(last, double(progress.epochs.value_or(1)));
        lines.append(line);
        if (look.latest) {
            const auto median = m_workspace.epochs().medianDurationS(look.index);
            const bool live = !m_workspace.runs().at(look.index)->over();
            bars.append(
                {look.name, look.color, false, median,
                 median ? core::seconds(median) + (live ? tr(" (live)") : QString()) : tr("no epoch complete yet"),
                 tr("Median over the complete epochs of the newest repeat")});
        }
    }
    if (showPublished())
        for (const core::PublishedRun &run : m_workspace.experiment()->recipe.published->runs) {
            LineData line;
            line.key = QStringLiteral("published ") + QString::fromStdString(run.name);
            line.name = tr("publ. %1").arg(QString::fromStdString(run.name));
            line.color = methodColor(QString::fromStdString(run.method));
            line.style = Qt::DotLine;
            std::vector<double> all;
            for (const core::PublishedEpoch &epoch : run.epochs)
                if (epoch.durationS) {
                    line.points.append({double(epoch.epoch), *epoch.durationS});
                    all.push_back(*epoch.durationS);
                }
            if (line.points.isEmpty())
                continue;
            line.endText = core::seconds(line.points.constLast().y());
            last = std::max(last, line.points.constLast().x());
            lines.append(line);
            const auto median = core::median(all);
            bars.append({line.name, line.color, true, median, core::seconds(median),
                         tr("Median of the published epochs, %1")
                             .arg(QString::fromStdString(m_workspace.experiment()->recipe.published->machine))});
        }
    m_duration->setXRange(1, last);
    m_duration->setLines(lines);
    m_medians->setBars(bars);
}

void LivePage::drawLanes() {
    const bool whole = m_window->currentIndex() == 0;
    QList<Lane> lanes;
    double end = 1;
    core::DeviceModel &model = m_workspace.devices();
    for (int row = 0; row < model.rowCount(); ++row) {
        const auto look =
            std::find_if(m_looks.begin(), m_looks.end(), [&](const RunLook &l) { return l.index == model.runAt(row); });
        if (look == m_looks.end() || !look->latest)
            continue;
        Lane lane;
        lane.run = look->name;
        lane.device = model.deviceAt(row);
        lane.color = look->color;
        const auto *history = model.history(row);
        const RunStore *store = m_workspace.runs().at(look->index);
        if (history && !history->empty()) {
            // One axis for all: seconds since each run's own first sample, or before its last one.
            const std::int64_t origin = whole ? history->front().wallUs : history->back().wallUs;
            for (const core::LaneSample &sample : *history) {
                const double at = double(sample.wallUs - origin) / 1e6;
                if (sample.sample.utilization && (whole || at >= -60))
                    lane.samples.append({at, *sample.sample.utilization});
            }
        }
        if (!lane.samples.isEmpty())
            end = std::max(end, lane.samples.constLast().x());
        const auto value = model.index(row, core::DeviceModel::Utilisation);
        // A finished run's latest sample says nothing: its mean does.
        double sum = 0;
        for (const QPointF &p : std::as_const(lane.samples))
            sum += p.y();
        const bool over = store->over();
        const QVariant latest = value.data(core::ValueRole);
        lane.value = core::percent(over && !lane.samples.isEmpty() ? std::optional(sum / double(lane.samples.size()))
                                   : latest.isValid()              ? std::optional(latest.toDouble())
                                                                   : std::nullopt,
                                   0);
        lane.hint = tr("<b>%1 %2</b><br>%3%4")
                        .arg(lane.run, lane.device, over ? tr("mean over the samples shown: ") : tr("latest sample: "),
                             lane.value);
        lanes.append(lane);
    }
    m_lanesCard->setNote(whole ? QString() : tr("last 60 s of each run"));
    m_lanes->setLanes(lanes, whole ? 0 : -60, whole ? end : 0,
                      whole ? tr("time since the run's first sample / s")
                            : tr("time before the run's last sample / s"));
}

void LivePage::drawPhases() {
    core::PhaseModel &model = m_workspace.phases();
    QList<PhaseBar> bars;
    for (int row = 0; row < model.rowCount(); ++row) {
        const QString runId = model.index(row, 0).data(core::RunIdRole).toString();
        const auto look =
            std::find_if(m_looks.begin(), m_looks.end(), [&](const RunLook &l) { return l.runId == runId; });
        if (look == m_looks.end() || !look->latest)
            continue;
        PhaseBar bar;
        const QVariant rank = model.index(row, 0).data(core::RankRole);
        const bool ranks = m_workspace.runs().at(look->index)->worldSize() > 1;
        bar.label = ranks && rank.isValid() ? tr("%1 rank %2").arg(look->name).arg(rank.toInt()) : look->name;
        bar.color = look->color;
        for (int i = 0; i < int(model.phases().size()); ++i) {
            const QVariant value = model.index(row, 1 + i).data(core::ValueRole);
            if (!value.isValid())
                continue;
            const PhasePart part{QString::fromStdString(model.phases()[std::size_t(i)]), value.toDouble()};
            if (i < model.additiveCount())
                bar.parts.append(part);
            else if (part.phase != QLatin1String("comm")) // comm overlaps backward: it has no place in a stack
                bar.nested.append(part);
        }
        if (!bar.parts.isEmpty())
            bars.append(bar);
    }
    m_phases->setBars(bars);
}

} // namespace lockstep::ui
