// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/live_cursor.h"

#include <algorithm>
#include <cmath>

#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/devices_card.h"
#include "app/ui/pages/live/shown_runs.h"

namespace lockstep::ui {

using XAxis = core::RunCurves::XAxis;

LiveCursor::LiveCursor(const ShownRuns &shown, const Pictures &pictures, QObject *parent)
    : QObject(parent), m_shown(shown), m_pictures(pictures) {
    connectPictures();
}

void LiveCursor::connectPictures() {
    for (const LineChart *chart : {&m_pictures.loss, &m_pictures.metric}) {
        connect(chart, &LineChart::crosshairMoved, this, &LiveCursor::pointAt);
        connect(chart, &LineChart::placeChosen, this, &LiveCursor::chooseX);
    }
    connect(&m_pictures.durations, &LineChart::crosshairMoved, this, &LiveCursor::pointAtEpoch);
    connect(&m_pictures.durations, &LineChart::placeChosen, this, &LiveCursor::chooseEpoch);
    connect(&lanes(), &LaneView::crosshairMoved, this, &LiveCursor::pointAtLane);
    connect(&lanes(), &LaneView::crosshairLeft, this, &LiveCursor::clear);
    connect(&lanes(), &LaneView::placeChosen, this, &LiveCursor::chooseLane);
    const auto insist = [this](const QString &runId, qint64 wallUs) { Q_EMIT timeChosen(runId, wallUs, true); };
    connect(&lanes(), &LaneView::markChosen, this, insist);
    for (const LineChart *chart : {&m_pictures.loss, &m_pictures.durations})
        connect(chart, &LineChart::markChosen, this, insist);
}

LaneView &LiveCursor::lanes() const {
    return *m_pictures.devices.lanes();
}

/// The wall clock time at which a run was at x; absent: never.
std::optional<std::int64_t> LiveCursor::wallUsOf(const RunStyle &style, double x) const {
    const XAxis axis = m_shown.view().axis;
    const auto curve = m_shown.curves().curve(style.index, axis);
    if (curve->isEmpty() || x < curve->first().x() - 1e-9 || x > curve->last().x() + 1e-9)
        return std::nullopt;
    return m_shown.curves().wallUsAt(style.index, axis, x);
}

/// The epoch at x, from the first run that reached x.
std::optional<double> LiveCursor::epochOf(double x) const {
    if (m_shown.view().axis == XAxis::Epoch)
        return std::max(1.0, std::ceil(x - 1e-9));
    for (const RunStyle &style : m_shown.styles())
        if (const auto wall = style.shown ? wallUsOf(style, x) : std::nullopt)
            if (const auto done = m_shown.curves().placeOf(style.index, XAxis::Epoch, *wall))
                return std::max(1.0, std::ceil(*done - 1e-9));
    return std::nullopt;
}

void LiveCursor::pointAt(std::optional<double> x) {
    QHash<QString, double> places;
    for (const RunStyle &style : m_shown.styles())
        if (const auto wall = x && style.shown ? wallUsOf(style, *x) : std::nullopt)
            if (const auto origin = m_pictures.devices.originUs(style.runId))
                places.insert(style.runId, double(*wall - *origin) * 1e-6);
    m_pictures.loss.setCrosshair(x);
    m_pictures.metric.setCrosshair(x);
    m_pictures.durations.setCrosshair(x ? epochOf(*x) : std::nullopt);
    lanes().setCrosshair(places);
}

void LiveCursor::pointAtEpoch(std::optional<double> epoch) {
    if (!epoch)
        return clear();
    const XAxis axis = m_shown.view().axis;
    std::optional<double> x;
    if (axis == XAxis::Epoch)
        x = *epoch;
    for (const RunStyle &style : m_shown.styles())
        if (const auto wall =
                !x && style.shown ? m_shown.curves().wallUsAt(style.index, XAxis::Epoch, *epoch) : std::nullopt)
            x = m_shown.curves().placeOf(style.index, axis, *wall);
    pointAt(x);
    m_pictures.durations.setCrosshair(epoch); // where the pointer is, not a whole epoch
}

void LiveCursor::pointAtLane(const QString &runId, double laneS) {
    const RunStyle *style = m_shown.find(runId);
    const auto origin = m_pictures.devices.originUs(runId);
    if (!style || !origin)
        return;
    pointAt(m_shown.curves().placeOf(style->index, m_shown.view().axis, *origin + std::int64_t(laneS * 1e6)));
    QHash<QString, double> places = lanes().crosshair();
    places.insert(runId, laneS); // samples come before the first and after the last step too
    lanes().setCrosshair(places);
}

void LiveCursor::chooseX(double x, const QString &runId) {
    const RunStyle *style = m_shown.find(runId);
    if (const auto wall = style ? wallUsOf(*style, x) : std::nullopt)
        return void(Q_EMIT timeChosen(runId, *wall, false));
    for (const RunStyle &other : m_shown.styles())
        if (const auto wall = other.shown ? wallUsOf(other, x) : std::nullopt)
            return void(Q_EMIT timeChosen(other.runId, *wall, false));
}

void LiveCursor::chooseEpoch(double epoch, const QString &runId) {
    const RunStyle *style = m_shown.find(runId);
    if (const auto wall =
            style ? m_shown.curves().wallUsAt(style->index, XAxis::Epoch, std::round(epoch)) : std::nullopt)
        Q_EMIT timeChosen(runId, *wall, false);
}

void LiveCursor::chooseLane(const QString &runId, double laneS) {
    if (const auto origin = m_pictures.devices.originUs(runId))
        Q_EMIT timeChosen(runId, *origin + qint64(laneS * 1e6), false);
}

void LiveCursor::showTime(const QString &runId, qint64 wallUs) {
    const RunStyle *style = m_shown.find(runId);
    if (!style || !style->shown)
        return;
    pointAt(m_shown.curves().placeOf(style->index, m_shown.view().axis, wallUs));
    if (const auto origin = m_pictures.devices.originUs(runId)) {
        QHash<QString, double> places = lanes().crosshair();
        places.insert(runId, double(wallUs - *origin) * 1e-6);
        lanes().setCrosshair(places);
    }
}

} // namespace lockstep::ui

#include "moc_live_cursor.cpp"
