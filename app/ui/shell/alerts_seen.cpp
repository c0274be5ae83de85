// SPDX-License-Identifier: MIT
#include "app/ui/shell/alerts_seen.h"

namespace lockstep::ui {

AlertsSeen::AlertsSeen(core::RunSet &runs, core::RunHistory &history, core::AlertModel &alerts, QObject *parent)
    : QObject(parent), m_runs(runs), m_history(history), m_alerts(alerts) {
    connect(&m_runs, &core::RunSet::reset, this, &AlertsSeen::ask);
    connect(&m_history, &core::RunHistory::seenRead, this, [this](const core::AlertsSeenUs &seen) {
        for (const auto &[run, untilUs] : seen)
            m_alerts.setSeen(QString::fromStdString(run), untilUs);
    });
}

void AlertsSeen::ask() {
    std::vector<std::string> runs;
    for (const core::RunStore *store : m_runs.stores())
        runs.push_back(store->runId().toStdString());
    if (!runs.empty())
        m_history.readSeen(runs);
}

void AlertsSeen::acknowledgeAll() {
    core::AlertsSeenUs seen;
    for (const auto &[run, untilUs] : m_alerts.newest()) {
        seen.emplace_back(run.toStdString(), untilUs);
        m_alerts.setSeen(run, untilUs);
    }
    m_history.acknowledge(seen);
}

} // namespace lockstep::ui

#include "moc_alerts_seen.cpp"
