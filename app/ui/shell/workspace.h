// SPDX-License-Identifier: MIT
#pragma once
#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <memory>
#include <vector>

#include "app/ui/shell/pictured_runs.h"
#include "app/ui/shell/requests_under_way.h"
#include "follow/run_follower.h"
#include "launch/detached_start.h"
#include "models/alert_model.h"
#include "models/console_model.h"
#include "models/experiment_model.h"
#include "models/judgement_model.h"
#include "models/result_model.h"
#include "models/run_curves.h"
#include "models/run_list_model.h"
#include "models/run_set.h"
#include "models/target_model.h"
#include "queue/experiment_follower.h"
#include "store/run_history.h"
#include "store/run_store.h"

namespace lockstep::ui {

/// What the window looks at: the experiment (or single run) that is open, the one that runs now, and core's models over
/// them. It follows, and owns no training: closing it changes nothing. GUI thread only; never blocks.
class Workspace : public QObject {
    Q_OBJECT
public:
    explicit Workspace(QObject *parent = nullptr);
    ~Workspace() override;

    /// Opens by experiment id or run id (a run that belongs to an experiment opens that); an error names what is missing.
    [[nodiscard]] Result<void> open(const QString &id);
    /// A run by itself, without its experiment.
    [[nodiscard]] Result<void> openRun(const QString &runId);
    /// The experiment that runs now, if there is one: owned, or its owner gone with work left. Also looks anew.
    bool attachToRunning();

    /// Starts by lockstepctl, detached; `opened` follows, or `failed`.
    void start(const core::StartRequest &request);
    [[nodiscard]] bool starting() const { return m_start != nullptr; }
    /// Takes up the queue of the experiment on the strip, whose owner is gone.
    void takeUp();
    /// Stops what the strip shows. This, trace(), takeOver() and ask() return at once: underWay() says what is happening, `failed`
    /// why it did not. What is under way already is not asked twice.
    void stop();
    /// Has its run record the next steps for Perfetto; where they lie, its console tells.
    void trace(std::int64_t steps);
    /// Queues a suggested run in the open experiment, as often as its reference, and sees that the queue goes on.
    void tryRun(const core::SuggestedRun &run);
    [[nodiscard]] bool mayTry() const { return whyNotTry().isEmpty(); }
    [[nodiscard]] QString whyNotTry() const; ///< empty: tryRun() can be asked
    /// Asks the queue of the experiment on the strip; `failed` says why not. Queued again without an owner: it is taken up.
    void ask(core::QueueRequest request);
    void takeOver(); ///< control of the experiment on the strip, whoever holds it
    [[nodiscard]] const RequestsUnderWay &underWay() const { return m_underWay; }
    [[nodiscard]] bool asking(Deed deed) const; ///< it is under way for what the strip shows
    /// Whether this window may take control of what it follows; a picture of it must not.
    void setMayControl(bool may) { m_mayControl = may; }
    /// The experiment on the strip and its queue.
    [[nodiscard]] core::ExperimentModel &queue() { return m_strip; }
    /// "lockstep on box (pid 123)" while another viewer holds control; empty otherwise.
    [[nodiscard]] QString heldBy() const;

    [[nodiscard]] bool isOpen() const { return m_open || m_run; }
    [[nodiscard]] QString openId() const;
    [[nodiscard]] QString title() const;
    /// The open experiment, or nothing for a single run.
    [[nodiscard]] const core::Experiment *experiment() const;
    [[nodiscard]] core::ExperimentFollower *follower() const { return m_open; }
    /// The strip: what runs now, else what is open.
    [[nodiscard]] core::ExperimentModel::Strip strip() const;
    [[nodiscard]] QString stripMethod() const;  ///< of the run that the strip names
    [[nodiscard]] QString linkSentence() const; ///< how the window stands to it, and its nodes to each other
    [[nodiscard]] QString lostNodes() const;    ///< of several nodes, while a link between them is lost; else empty
    /// The strip speaks of another experiment than the open one; its id.
    [[nodiscard]] QString runningElsewhere() const;

    /// All runs of what is open have ended and been read to their end.
    [[nodiscard]] bool complete() const;
    /// Everything written so far has been read: a picture taken now shows all there is.
    [[nodiscard]] bool settled() const;

    [[nodiscard]] core::RunSet &runs() { return m_runs; }
    /// Those and pinned ones of other experiments: what the pictures show.
    [[nodiscard]] PicturedRuns &pictured() { return m_pictured; }
    [[nodiscard]] core::RunCurves &curves() { return m_curves; } ///< of pictured()
    [[nodiscard]] core::ConsoleModel &console() { return m_console; }
    [[nodiscard]] core::AlertModel &alerts() { return m_alerts; }
    [[nodiscard]] core::ResultModel &results() { return m_results; }
    [[nodiscard]] core::JudgementModel &judgement() { return m_judgement; }
    [[nodiscard]] core::TargetModel &targets() { return m_targets; }
    [[nodiscard]] core::ClassAccuracyModel &classes() { return m_classes; }
    [[nodiscard]] core::RunListModel &history() { return *m_history; }
    /// Fills history(): reads the disk and changes notes on its own thread.
    [[nodiscard]] core::RunHistory &runHistory() { return m_runHistory; }

Q_SIGNALS:
    void opened();         ///< another experiment or run is open
    void stripChanged();   ///< progress, state, ownership
    void resultsChanged(); ///< results(), judgement() and classes() were recomputed
    void startingChanged();
    void failed(const QString &sentence);

private:
    core::ExperimentFollower *followerFor(const QString &id, Error *error);
    void show(core::ExperimentFollower *follower);
    void dropUnused();
    void clearOpen();
    void lookForRunning();
    void recompute();
    void resultsDirty();
    void claim();
    [[nodiscard]] QString stripId() const;
    void handleStart(std::unique_ptr<core::DetachedStart> start);

    // Models are declared after what they read, so that they go first.
    std::vector<std::unique_ptr<core::ExperimentFollower>> m_followers;
    core::ExperimentFollower *m_open = nullptr;
    core::ExperimentFollower *m_running = nullptr;
    std::unique_ptr<core::RunStore> m_run;
    std::unique_ptr<core::RunFollower> m_runFollower;
    std::unique_ptr<core::DetachedStart> m_start;
    RequestsUnderWay m_underWay;

    core::RunSet m_runs{this};
    PicturedRuns m_pictured{m_runs};
    core::RunCurves m_curves{&m_pictured.runs()};
    core::ConsoleModel m_console{&m_runs};
    core::AlertModel m_alerts{&m_runs};
    core::ExperimentModel m_strip;
    core::ResultModel m_results;
    core::ClassAccuracyModel m_classes;
    core::JudgementModel m_judgement;
    core::TargetModel m_targets;
    std::unique_ptr<core::RunListModel> m_history;
    core::RunHistory m_runHistory;
    QTimer m_look, m_recompute;
    bool m_mayControl = true;
};

} // namespace lockstep::ui
