// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include <memory>

#include "app/ui/shell/alerts_seen.h"
#include "app/ui/shell/experiment_starter.h"
#include "app/ui/shell/followed_work.h"
#include "app/ui/shell/open_results.h"
#include "app/ui/shell/pictured_runs.h"
#include "app/ui/shell/queue_control.h"
#include "app/ui/shell/strip_state.h"
#include "app/ui/shell/suggested_runs.h"
#include "models/alert_model.h"
#include "models/console_model.h"
#include "models/run_curves.h"
#include "models/run_list_model.h"
#include "store/run_history.h"

namespace lockstep::ui {

/// The window's data: what is open, what runs now, and core's models of both, in parts that a page can be given
/// separately. It only follows training: closing it changes nothing. GUI thread only; never blocks.
class Workspace : public QObject {
    Q_OBJECT
public:
    explicit Workspace(QObject *parent = nullptr);

    /// See FollowedWork; `opened` follows.
    [[nodiscard]] Result<void> open(const QString &id) { return m_work.open(id); }
    [[nodiscard]] Result<void> openRun(const QString &runId) { return m_work.openRun(runId); }
    [[nodiscard]] QString placeQuestion() const { return m_work.openPlaceQuestion(); }
    [[nodiscard]] Result<void> connectToPlaces() { return m_work.connectToOpenPlaces(); }
    bool attachToRunning() { return m_work.attachToRunning(); }
    void lookForRunning() { m_work.lookForRunning(); }

    [[nodiscard]] bool isOpen() const { return m_work.isOpen(); }
    [[nodiscard]] QString openId() const { return m_work.id(); }
    [[nodiscard]] QString title() const { return m_work.title(); }
    /// The open experiment, or nothing for a single run.
    [[nodiscard]] const core::Experiment *experiment() const;
    [[nodiscard]] bool complete() const { return m_work.complete(); }
    /// Whether everything written so far has been read, so that a chart exported now is complete.
    [[nodiscard]] bool settled() const { return m_results.upToDate() && m_work.isRead(); }
    [[nodiscard]] core::RunSet &runs() { return m_work.runs(); }

    [[nodiscard]] StripState &strip() { return m_strip; }
    [[nodiscard]] QueueControl &control() { return m_control; }
    [[nodiscard]] ExperimentStarter &starter() { return m_starter; }
    [[nodiscard]] SuggestedRuns &suggested() { return m_suggested; }
    [[nodiscard]] OpenResults &results() { return m_results; }
    /// The open runs and pinned ones of other experiments: what the pictures show.
    [[nodiscard]] PicturedRuns &pictured() { return m_pictured; }
    [[nodiscard]] core::RunCurves &curves() { return m_curves; } ///< of pictured()
    [[nodiscard]] core::ConsoleModel &console() { return m_console; }
    [[nodiscard]] core::AlertModel &alerts() { return m_alerts; }
    [[nodiscard]] AlertsSeen &alertsSeen() { return m_alertsSeen; }
    [[nodiscard]] core::RunListModel &history() { return *m_history; }
    /// Fills history(): reads the disk and changes notes on its own thread.
    [[nodiscard]] core::RunHistory &runHistory() { return m_runHistory; }

Q_SIGNALS:
    void opened();         ///< another experiment or run is open
    void resultsChanged(); ///< results() were recomputed
    void failed(const QString &sentence);

private:
    void follow(const QString &experiment);

    // Models are declared after their data, so that they are destroyed first.
    FollowedWork m_work;
    StripState m_strip{m_work};
    ExperimentStarter m_starter;
    QueueControl m_control{m_work, m_strip, m_starter};
    SuggestedRuns m_suggested{m_work, m_control.underWay(), m_starter};
    PicturedRuns m_pictured{m_work.runs()};
    core::RunCurves m_curves{&m_pictured.runs()};
    core::ConsoleModel m_console{&m_work.runs()};
    core::AlertModel m_alerts{&m_work.runs()};
    OpenResults m_results{m_work};
    std::unique_ptr<core::RunListModel> m_history;
    core::RunHistory m_runHistory;
    AlertsSeen m_alertsSeen{m_work.runs(), m_runHistory, m_alerts};
};

} // namespace lockstep::ui
