// SPDX-License-Identifier: MIT
// The crosshair that runs through all of Live's pictures, and the way between a place in a chart and a line of the console.
// Its place is an x on the loss chart's axis; each other picture shows it where its runs stood there.
#include <algorithm>
#include <cmath>

#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/live/metric_card.h"
#include "app/ui/shell/workspace.h"

namespace lockstep::ui {

using XAxis = core::RunCurves::XAxis;

void LivePage::connectPointers() {
    for (LineChart *chart : {m_loss, m_metricCard->chart()}) {
        connect(chart, &LineChart::crosshairMoved, this, &LivePage::pointAt);
        connect(chart, &LineChart::placeChosen, this, &LivePage::choosePlace);
    }
    connect(m_duration, &LineChart::crosshairMoved, this, &LivePage::pointAtEpoch);
    connect(m_lanes, &LaneView::crosshairMoved, this, &LivePage::pointAtLane);
    connect(m_lanes, &LaneView::crosshairLeft, this, [this] { pointAt({}); });
    connect(m_duration, &LineChart::placeChosen, this, [this](double epoch, const QString &runId) {
        const RunLook *look = lookOf(runId);
        const auto wall =
            look ? m_workspace.curves().wallUsAt(look->index, XAxis::Epoch, std::round(epoch)) : std::nullopt;
        if (wall)
            Q_EMIT timeChosen(runId, *wall, false);
    });
    connect(m_lanes, &LaneView::placeChosen, this, [this](const QString &runId, double laneS) {
        if (m_laneOrigin.contains(runId))
            Q_EMIT timeChosen(runId, m_laneOrigin.value(runId) + qint64(laneS * 1e6), false);
    });
    connect(m_lanes, &LaneView::markChosen, this,
            [this](const QString &runId, qint64 wallUs) { Q_EMIT timeChosen(runId, wallUs, true); });
    for (LineChart *chart : {m_loss, m_duration})
        connect(chart, &LineChart::markChosen, this,
                [this](const QString &runId, qint64 wallUs) { Q_EMIT timeChosen(runId, wallUs, true); });
}

/// When a run stood at x, if it ever did.
std::optional<std::int64_t> LivePage::wallUsOf(const RunLook &look, double x) const {
    const auto curve = m_workspace.curves().curve(look.index, m_side->axis());
    if (curve->isEmpty() || x < curve->first().x() - 1e-9 || x > curve->last().x() + 1e-9)
        return std::nullopt;
    return m_workspace.curves().wallUsAt(look.index, m_side->axis(), x);
}

/// The epoch that ran at x, by the first run that was there.
std::optional<double> LivePage::epochOf(double x) const {
    if (m_side->axis() == XAxis::Epoch)
        return std::max(1.0, std::ceil(x - 1e-9));
    for (const RunLook &look : m_looks)
        if (const auto wall = look.shown ? wallUsOf(look, x) : std::nullopt)
            if (const auto done = m_workspace.curves().placeOf(look.index, XAxis::Epoch, *wall))
                return std::max(1.0, std::ceil(*done - 1e-9));
    return std::nullopt;
}

void LivePage::pointAt(std::optional<double> x) {
    QHash<QString, double> lanes;
    for (const RunLook &look : m_looks)
        if (const auto wall = x && look.shown ? wallUsOf(look, *x) : std::nullopt;
            wall && m_laneOrigin.contains(look.runId))
            lanes.insert(look.runId, double(*wall - m_laneOrigin.value(look.runId)) * 1e-6);
    m_loss->setCrosshair(x);
    m_metricCard->chart()->setCrosshair(x);
    m_duration->setCrosshair(x ? epochOf(*x) : std::nullopt);
    m_lanes->setCrosshair(lanes);
}

void LivePage::pointAtEpoch(std::optional<double> epoch) {
    if (!epoch)
        return pointAt({});
    std::optional<double> x;
    if (m_side->axis() == XAxis::Epoch)
        x = *epoch;
    for (const RunLook &look : m_looks)
        if (const auto wall =
                !x && look.shown ? m_workspace.curves().wallUsAt(look.index, XAxis::Epoch, *epoch) : std::nullopt)
            x = m_workspace.curves().placeOf(look.index, m_side->axis(), *wall);
    pointAt(x);
    m_duration->setCrosshair(epoch); // where the pointer is, not a whole epoch
}

void LivePage::pointAtLane(const QString &runId, double laneS) {
    const RunLook *look = lookOf(runId);
    if (!look || !m_laneOrigin.contains(runId))
        return;
    pointAt(m_workspace.curves().placeOf(look->index, m_side->axis(),
                                         m_laneOrigin.value(runId) + std::int64_t(laneS * 1e6)));
    QHash<QString, double> lanes = m_lanes->crosshair();
    lanes.insert(runId, laneS); // samples come before the first and after the last step too
    m_lanes->setCrosshair(lanes);
}

void LivePage::choosePlace(double x, const QString &runId) {
    const RunLook *look = lookOf(runId);
    if (const auto wall = look ? wallUsOf(*look, x) : std::nullopt)
        return void(Q_EMIT timeChosen(runId, *wall, false));
    for (const RunLook &other : m_looks)
        if (const auto wall = other.shown ? wallUsOf(other, x) : std::nullopt)
            return void(Q_EMIT timeChosen(other.runId, *wall, false));
}

void LivePage::showTime(const QString &runId, qint64 wallUs) {
    const RunLook *look = lookOf(runId);
    if (!look || !look->shown)
        return;
    pointAt(m_workspace.curves().placeOf(look->index, m_side->axis(), wallUs));
    if (m_laneOrigin.contains(runId)) {
        QHash<QString, double> lanes = m_lanes->crosshair();
        lanes.insert(runId, double(wallUs - m_laneOrigin.value(runId)) * 1e-6);
        m_lanes->setCrosshair(lanes);
    }
}

} // namespace lockstep::ui
