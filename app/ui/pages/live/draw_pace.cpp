// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/draw_pace.h"

#include <algorithm>

namespace lockstep::ui {
namespace {
constexpr int leastPauseMs = 50;
constexpr int timesAsLong = 9; ///< the pause after a drawing, as a multiple of the drawing's time
} // namespace

DrawPace::DrawPace(QObject *parent) : QObject(parent) {
    m_clock.start();
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &DrawPace::draw);
}

void DrawPace::ask() {
    if (!m_timer.isActive())
        m_timer.start(int(std::max<qint64>(0, m_notBeforeMs - m_clock.elapsed())));
}

void DrawPace::draw() {
    const qint64 begun = m_clock.elapsed();
    Q_EMIT due();
    const qint64 done = m_clock.elapsed();
    m_notBeforeMs = std::max(begun + leastPauseMs, done + (done - begun) * timesAsLong);
}

} // namespace lockstep::ui

#include "moc_draw_pace.cpp"
