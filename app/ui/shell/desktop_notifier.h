// SPDX-License-Identifier: MIT
#pragma once
#include <map>

#include <QObject>

#include "follow/alert_feed.h"
#include "models/run_set.h"

namespace lockstep::ui {

/// New alerts of the open runs as notifications of the desktop, while the window is in the background: the freedesktop.org
/// specification over D-Bus. Without a desktop that shows them nothing happens. Calls don't wait.
class DesktopNotifier : public QObject {
    Q_OBJECT
public:
    explicit DesktopNotifier(core::RunSet &runs, QObject *parent = nullptr);
    void setEnabled(bool enabled) { m_enabled = enabled; }
    [[nodiscard]] bool isEnabled() const { return m_enabled; }
    void show(const core::RaisedAlert &raised);

Q_SIGNALS:
    void chosen(const QString &runId); ///< the person pressed a notification about that run

private Q_SLOTS:
    void onAction(uint notification, const QString &action);
    void onClosed(uint notification, uint reason);

private:
    void watchRuns();
    bool listen();
    core::RunSet &m_runs;
    core::AlertFeed m_feed;
    std::map<uint, QString> m_shown; ///< run of each notification on screen
    bool m_enabled = true, m_listens = false;
};

} // namespace lockstep::ui
