// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/devices_card.h"

#include <QComboBox>
#include <QVBoxLayout>

#include <algorithm>

#include "analysis/history/run_marks.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/pages/live/shown_marks.h"
#include "app/ui/pages/live/watching_line.h"
#include "app/ui/theme/theme.h"
#include "models/device_metric.h"
#include "models/live_figures.h"
#include "store/recent_data.h"

namespace lockstep::ui {
namespace {

using core::DeviceMetric;
using core::RunStore;

constexpr double lastSeconds = 60;

/// One axis for all devices of a run: seconds since its first sample, or before its last one.
std::optional<std::int64_t> laneOriginUs(const RunStore &run, bool whole) {
    std::optional<std::int64_t> origin;
    for (const std::string &device : run.devices().names())
        if (const auto *history = run.devices().lane(device); history && !history->empty())
            origin = whole ? std::min(origin.value_or(history->front().wallUs), history->front().wallUs)
                           : std::max(origin.value_or(history->back().wallUs), history->back().wallUs);
    return origin;
}

double meanOf(const QList<QPointF> &samples) {
    double sum = 0;
    for (const QPointF &sample : samples)
        sum += sample.y();
    return sum / double(samples.size());
}

} // namespace

DevicesCard::DevicesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(tr("Devices"), shown,
               Changes(RunStore::Devices) | RunStore::Record | RunStore::State | RunStore::Link | RunStore::Epochs |
                   RunStore::Alerts,
               parent),
      m_theme(theme) {
    setToolTip(tr("How busy each device was, five samples a second. CPU: busy share of its cores, busy waiting "
                  "included. GPU: share of time in which a kernel ran"));
    QStringList metrics;
    for (const DeviceMetric metric : core::deviceMetrics)
        metrics.append(core::metricTitle(metric));
    m_metric = addChoice("metric", metrics, tr("What the lanes show, on one scale"));
    m_window = addChoice("window", {tr("whole run"), tr("last 60 s")},
                         tr("Time since each run's first sample, or the 60 s before its last one"));
    for (const QComboBox *box : {m_metric, m_window})
        connect(box, &QComboBox::currentIndexChanged, this, [this] { Q_EMIT refreshWanted(RunStore::Devices); });
    m_lanes = new LaneView(m_theme, QStringLiteral("devices"), this);
    body()->addWidget(m_lanes, 1);
    m_lanes->follow(shown.highlight());
    m_watching = new WatchingLine(this);
    body()->addWidget(m_watching);
}

ChartSource *DevicesCard::picture() const {
    return m_lanes;
}

DeviceMetric DevicesCard::metric() const {
    return core::deviceMetrics[m_metric->currentIndex()];
}

bool DevicesCard::whole() const {
    return m_window->currentIndex() == 0;
}

std::optional<std::int64_t> DevicesCard::originUs(const QString &runId) const {
    const auto found = m_originUs.constFind(runId);
    return found == m_originUs.constEnd() ? std::nullopt : std::optional(found.value());
}

void DevicesCard::draw(Changes what) {
    const auto isElsewhere = [this](const RunStyle &style) {
        const auto &record = shown().storeOf(style).record();
        return record && isStartedElsewhere(*record);
    };
    const std::vector<RunStyle> &styles = shown().styles();
    m_lanes->setEmptyText(shown().whyEmpty(!styles.empty() && std::ranges::all_of(styles, isElsewhere)
                                               ? tr("Devices of a run that was started elsewhere are not sampled")
                                               : tr("Appears while a run trains"),
                                           tr("No device was sampled")));
    if (what & (RunStore::Devices | RunStore::Record | RunStore::Link | RunStore::State))
        drawLanes();
    drawMarks();
    if (what & (RunStore::Devices | RunStore::State | RunStore::Link))
        m_watching->refresh(shown());
}

void DevicesCard::drawLanes() {
    QList<Lane> lanes;
    double full = metric() == DeviceMetric::Utilisation ? 1 : 0;
    for (const RunStyle &style : shown().stylesByMethod())
        if (style.shown && style.latest)
            addLanes(style, lanes, full);
    for (const RunStyle &style : shown().styles()) // all in one unit: that of a full lane
        for (Lane &lane : lanes)
            if (lane.runId == style.runId)
                addWords(lane, shown().storeOf(style), full);
    double end = 1;
    for (const Lane &lane : lanes)
        if (!lane.samples.isEmpty())
            end = std::max(end, lane.samples.constLast().x());
    const QString scale = metric() == DeviceMetric::Utilisation || full <= 0
                              ? QString()
                              : tr("full lane: %1").arg(core::metricText(full, metric()));
    setNote(scale);
    m_lanes->setMetric(metric(), full);
    m_lanes->setMeanHead(tr("mean, %1").arg(m_window->currentText())); // figures elsewhere are of training alone
    m_lanes->setLanes(lanes, whole() ? 0 : -lastSeconds, whole() ? end : 0, tr("time / s"));
}

/// The lanes of a run's devices; raises `full` to the largest value.
void DevicesCard::addLanes(const RunStyle &style, QList<Lane> &lanes, double &full) {
    const RunStore &run = shown().storeOf(style);
    const auto originUs = laneOriginUs(run, whole());
    if (originUs)
        m_originUs.insert(style.runId, *originUs);
    for (const std::string &device : run.devices().names()) {
        Lane lane{style.name, style.runId, QString::fromStdString(device), style.color,
                  {},         {},          tr("not sampled yet"),          {}};
        if (const auto *history = run.devices().lane(device); history && !history->empty())
            addSamples(lane, *history, *originUs, full);
        if (lanes.isEmpty() ||
            lanes.last().runId != style.runId) // the other programs' load is known only for the whole run
            lane.others = core::othersText(run);
        lanes.append(lane);
    }
}

void DevicesCard::addSamples(Lane &lane, const std::deque<core::LaneSample> &history, std::int64_t originUs,
                             double &full) const {
    for (const core::LaneSample &sample : history) {
        const double at = double(sample.wallUs - originUs) / 1e6;
        const auto value = core::metricValue(sample.sample, metric());
        if (!value || !(whole() || at >= -lastSeconds))
            continue;
        lane.samples.append({at, *value});
        full = std::max(full, *value);
    }
    const DeviceSample &newest = history.back().sample;
    if (metric() == DeviceMetric::Memory && newest.memoryTotalBytes && newest.memoryUsedBytes)
        full = std::max(full, *newest.memoryTotalBytes);
    lane.unknown = core::whyUnknown(newest.kind, metric());
}

void DevicesCard::addWords(Lane &lane, const RunStore &run, double full) const {
    const std::string device = lane.device.toStdString();
    lane.noRecentData = core::whyNoRecentData(run, device); // nothing recent is known behind a lost link
    const bool known = lane.noRecentData.isEmpty() && !lane.samples.isEmpty();
    lane.value = core::metricText(known ? std::optional(meanOf(lane.samples)) : std::nullopt, metric(), full);
    lane.idle =
        core::metricText(lane.noRecentData.isEmpty() ? idleShare(run, device, originUs(lane.runId)) : std::nullopt,
                         DeviceMetric::Utilisation);
    lane.hint = tr("<b>%1 %2</b><br>").arg(lane.run.toHtmlEscaped(), lane.device.toHtmlEscaped());
    if (known) {
        lane.hint += tr("mean over the samples shown: %1; idle %2 of the time").arg(lane.value, lane.idle);
        const DeviceSample &newest = run.devices().lane(device)->back().sample;
        if (!run.over())
            lane.hint +=
                tr("<br>latest sample: %1").arg(core::metricText(core::metricValue(newest, metric()), metric()));
    } else {
        lane.hint += lane.noRecentData.isEmpty() ? lane.unknown : lane.noRecentData.toHtmlEscaped();
    }
    if (const QString others = core::othersSentence(run); !others.isEmpty())
        lane.hint += QStringLiteral("<br>") + others.toHtmlEscaped();
}

/// Of the samples that are shown; a device is idle where it is not busy.
std::optional<double> DevicesCard::idleShare(const RunStore &run, const std::string &device,
                                             std::optional<std::int64_t> originUs) const {
    const auto *history = run.devices().lane(device);
    double busy = 0;
    int count = 0;
    if (history && originUs)
        for (const core::LaneSample &sample : *history)
            if (const auto &use = sample.sample.utilization;
                use && (whole() || double(sample.wallUs - *originUs) / 1e6 >= -lastSeconds)) {
                busy += *use;
                ++count;
            }
    return count > 0 ? std::optional(std::clamp(1 - busy / count, 0.0, 1.0)) : std::nullopt;
}

/// Events and epoch ends of the runs, on the lanes' time axis.
void DevicesCard::drawMarks() {
    QList<ChartMark> marks;
    for (const RunStyle &style : shown().styles()) {
        const auto origin = originUs(style.runId);
        if (!style.shown || !style.latest || !origin)
            continue;
        const RunStore &run = shown().storeOf(style);
        std::vector<core::RunMark> all = core::runMarks(run);
        const std::vector<core::RunMark> ends = core::epochEnds(run);
        all.insert(all.end(), ends.begin(), ends.end());
        for (const core::RunMark &mark : all) {
            ChartMark out = chartMark(style, mark);
            out.x = double(mark.wallUs - *origin) / 1e6;
            if (!mark.error)
                out.ink = ChartMark::Ink::Text; // the run's own colour is the background there
            marks.append(out);
        }
    }
    m_lanes->setMarks(marks);
}

} // namespace lockstep::ui

#include "moc_devices_card.cpp"
