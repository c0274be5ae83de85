// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include "models/alert_model.h"
#include "models/run_set.h"
#include "store/run_history.h"

namespace lockstep::ui {

/// Which alerts of the open runs the person has acknowledged; kept in each run's notes.
class AlertsSeen : public QObject {
    Q_OBJECT
public:
    AlertsSeen(core::RunSet &runs, core::RunHistory &history, core::AlertModel &alerts, QObject *parent = nullptr);
    void acknowledgeAll();

private:
    void ask();
    core::RunSet &m_runs;
    core::RunHistory &m_history;
    core::AlertModel &m_alerts;
};

} // namespace lockstep::ui
