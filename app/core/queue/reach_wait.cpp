// SPDX-License-Identifier: MIT
#include "queue/reach_wait.h"

#include <algorithm>

#include <QDateTime>

namespace lockstep::core {
namespace {

constexpr int firstMs = 1'000, longestMs = 30'000;
constexpr qint64 patienceMs = 15 * 60'000;

} // namespace

ReachWait::ReachWait(QObject *parent) : QObject(parent), m_nextMs(firstMs) {
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &ReachWait::again);
}

bool ReachWait::next() {
    if (!m_until)
        m_until = QDeadlineTimer(patienceMs);
    if (m_until->hasExpired())
        return false;
    m_timer.start(m_nextMs);
    m_nextMs = std::min(2 * m_nextMs, longestMs);
    return true;
}

bool ReachWait::cancel() {
    const bool waited = m_timer.isActive();
    m_timer.stop();
    return waited;
}

QString ReachWait::until() const {
    return QDateTime::currentDateTime().addMSecs(m_until->remainingTime()).toString(QStringLiteral("hh:mm"));
}

} // namespace lockstep::core

#include "moc_reach_wait.cpp"
