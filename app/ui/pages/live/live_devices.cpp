// SPDX-License-Identifier: MIT
// How Live turns core's models into its lanes, phases and data parallel's anatomy.
#include <QAction>
#include <QComboBox>
#include <QLabel>

#include <algorithm>

#include "analysis/causes/dp_anatomy.h"
#include "analysis/causes/watching.h"
#include "analysis/history/run_marks.h"
#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/wrapped_label.h"
#include "base/format.h"
#include "models/device_metric.h"
#include "models/live_figures.h"
#include "store/unheard.h"

namespace lockstep::ui {

using core::DeviceMetric;

namespace {
constexpr qint64 watchingEveryMs = 2000;
} // namespace

const RunLook *LivePage::lookOf(const QString &runId) const {
    const auto found =
        std::find_if(m_looks.begin(), m_looks.end(), [&](const RunLook &look) { return look.runId == runId; });
    return found == m_looks.end() ? nullptr : &*found;
}

/// The lanes of a run's devices; raises `full` to the largest value and returns the last sample's time.
double LivePage::addLanes(const RunLook &look, QList<Lane> &lanes, double &full) {
    const bool whole = m_window->currentIndex() == 0;
    const auto metric = DeviceMetric(m_metric->currentIndex());
    const core::RunStore &run = *runs().at(look.index);
    const std::vector<std::string> devices = run.devices().names();
    double end = 0;
    // One axis for all devices of a run: seconds since its first sample, or before its last one.
    std::optional<std::int64_t> first, last;
    for (const std::string &device : devices)
        if (const auto *history = run.devices().lane(device); history && !history->empty()) {
            first = std::min(first.value_or(history->front().wallUs), history->front().wallUs);
            last = std::max(last.value_or(history->back().wallUs), history->back().wallUs);
        }
    if (first)
        m_laneOrigin.insert(look.runId, whole ? *first : *last);
    for (const std::string &device : devices) {
        Lane lane{look.name, look.runId, QString::fromStdString(device), look.color, {}, {}, tr("not sampled yet"), {}};
        const auto *history = run.devices().lane(device);
        double sum = 0;
        std::optional<double> latest;
        if (history && !history->empty()) {
            const std::int64_t origin = whole ? *first : *last;
            for (const core::LaneSample &sample : *history) {
                const double at = double(sample.wallUs - origin) / 1e6;
                const auto value = core::metricValue(sample.sample, metric);
                if (!value || !(whole || at >= -60))
                    continue;
                lane.samples.append({at, *value});
                sum += *value;
                full = std::max(full, *value);
            }
            const DeviceSample &newest = history->back().sample;
            latest = core::metricValue(newest, metric);
            if (metric == DeviceMetric::Memory && newest.memoryTotalBytes && latest)
                full = std::max(full, *newest.memoryTotalBytes);
            lane.unknown = core::whyUnknown(newest.kind, metric);
        }
        // A finished run's latest sample says nothing: its mean does. Behind a lost link nothing is known of now.
        const bool over = run.over();
        lane.unheard = core::whyUnheard(run, device);
        if (!lane.unheard.isEmpty())
            latest.reset();
        lane.value = core::metricText(
            over && !lane.samples.isEmpty() ? std::optional(sum / double(lane.samples.size())) : latest, metric);
        lane.hint = tr("<b>%1 %2</b><br>%3").arg(lane.run.toHtmlEscaped(), lane.device) +
                    (!lane.unheard.isEmpty() ? lane.unheard.toHtmlEscaped()
                     : lane.samples.isEmpty()
                         ? lane.unknown
                         : (over ? tr("mean over the samples shown: ") : tr("latest sample: ")) + lane.value);
        if (!lane.samples.isEmpty())
            end = std::max(end, lane.samples.constLast().x());
        lanes.append(lane);
    }
    return end;
}

void LivePage::drawLanes() {
    const bool whole = m_window->currentIndex() == 0;
    const auto metric = DeviceMetric(m_metric->currentIndex());
    QList<Lane> lanes;
    double end = 1, full = metric == DeviceMetric::Utilisation ? 1 : 0;
    for (const RunLook &look : m_looks)
        if (look.shown && look.latest)
            end = std::max(end, addLanes(look, lanes, full));
    const QString scale = metric == DeviceMetric::Utilisation || full <= 0
                              ? QString()
                              : tr("full lane: %1").arg(core::metricText(full, metric));
    m_lanesCard->setNote(whole ? scale : scale.isEmpty() ? tr("last 60 s of each run") : scale);
    m_lanes->setMetric(metric, full);
    m_lanes->setLanes(lanes, whole ? 0 : -60, whole ? end : 0,
                      whole ? tr("time since the run's first sample / s")
                            : tr("time before the run's last sample / s"));
}

/// Of the run that goes on; written seldom, since a label that changes is laid out and painted anew.
void LivePage::tellWatching() {
    QString sentence;
    for (const RunLook &look : m_looks) {
        const core::RunStore &run = *runs().at(look.index);
        if (run.over() || run.lifecycle().link() == core::LinkState::Lost) // what it takes now is not known then
            continue;
        sentence = core::watchingNowText(run.devices().viewersShare(),
                                         run.record() ? run.record()->freeCores : std::optional<int>());
    }
    if (!sentence.isEmpty() && m_watchingTold.isValid() && m_watchingTold.elapsed() < watchingEveryMs)
        return;
    sentence.isEmpty() ? m_watchingTold.invalidate() : m_watchingTold.start();
    m_watching->setWords(sentence);
    m_watching->setVisible(!sentence.isEmpty());
}

/// What happened to a run, and where its epochs ended, on the lanes' own time.
void LivePage::drawLaneMarks() {
    QList<ChartMark> marks;
    for (const RunLook &look : m_looks) {
        const auto origin = m_laneOrigin.constFind(look.runId);
        if (!look.shown || !look.latest || origin == m_laneOrigin.constEnd())
            continue;
        const core::RunStore &store = *runs().at(look.index);
        std::vector<core::RunMark> all = core::runMarks(store);
        const std::vector<core::RunMark> ends = core::epochEnds(store);
        all.insert(all.end(), ends.begin(), ends.end());
        for (const core::RunMark &mark : all) {
            ChartMark out = chartMark(look, mark);
            out.x = double(mark.wallUs - origin.value()) / 1e6;
            if (!mark.error)
                out.color = m_theme.palette().text; // the run's own colour is what it would stand on
            marks.append(out);
        }
    }
    m_lanes->setMarks(marks);
}

void LivePage::drawAnatomy() {
    QList<AnatomyRun> all;
    for (const RunLook &look : m_looks)
        if (look.shown && look.latest)
            if (const auto anatomy = core::dpAnatomy(*runs().at(look.index)))
                all.append({look.name, look.color, *anatomy});
    m_anatomy->setRuns(all);
    m_anatomyCard->setNote(
        m_anatomy->hasUnknown()
            ? tr("dashed, with ?: how long that device took is not in the frames, only the slowest one's time")
            : tr("bars: each device's own time; the line behind: its wait for the slowest one"));
    m_anatomyCard->setVisible(!all.isEmpty() && m_pictureActions.value(QStringLiteral("anatomy"))->isChecked());
}

void LivePage::drawPhases() {
    QList<PhaseBar> bars;
    const auto parts = [](const std::vector<core::StepPhase> &phases) {
        QList<PhasePart> out;
        for (const core::StepPhase &phase : phases)
            out.append({QString::fromStdString(phase.phase), phase.seconds});
        return out;
    };
    for (const RunLook &look : m_looks) {
        if (!look.latest)
            continue;
        const core::RunStore &run = *runs().at(look.index);
        for (const core::RankStep &step : core::rankSteps(run)) {
            const QString label =
                run.ranks().expected() > 1 ? tr("%1 rank %2").arg(look.name).arg(step.rank) : look.name;
            if (!step.additive.empty())
                bars.append({label, look.color, parts(step.additive), parts(step.nested)});
        }
    }
    m_phases->setBars(bars);
}

} // namespace lockstep::ui
