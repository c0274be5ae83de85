// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QTimer>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "follow/run_follower.h"
#include "models/run_set.h"
#include "queue/experiment_follower.h"
#include "store/run_store.h"

namespace lockstep::ui {

/// What the window follows: the experiment (or the run by itself) that is open, and the experiment that runs now, which may
/// be another one. Checks every two seconds whether one runs. GUI thread only; never blocks.
class FollowedWork : public QObject {
    Q_OBJECT
public:
    explicit FollowedWork(QObject *parent = nullptr);
    ~FollowedWork() override;

    /// Opens by experiment id or run id. A run that belongs to an experiment opens that. An error names what is missing.
    [[nodiscard]] Result<void> open(const QString &id);
    /// A run by itself, without its experiment.
    [[nodiscard]] Result<void> openRun(const QString &runId);
    /// The question about a place that what is open names and this user has not (nodes/known_places.h); empty: none.
    [[nodiscard]] QString openPlaceQuestion() const;
    /// The answer "yes": remembers the places and opens the same again.
    [[nodiscard]] Result<void> connectToOpenPlaces();
    /// Opens the experiment that runs now, if there is one: owned, on another machine, or the newest one if a run of it goes on
    /// though its owner is gone. Checks first.
    bool attachToRunning();
    void lookForRunning();

    [[nodiscard]] bool isOpen() const { return m_open || m_run; }
    [[nodiscard]] QString id() const; ///< of what is open
    [[nodiscard]] QString title() const;
    /// The experiment that is open; null for a run by itself.
    [[nodiscard]] core::ExperimentFollower *opened() const { return m_open; }
    [[nodiscard]] core::ExperimentFollower *running() const { return m_running; }
    /// The subject of the strip on top: the running experiment, else the open one. Null: a single run, or nothing.
    [[nodiscard]] core::ExperimentFollower *onStrip() const { return m_running ? m_running : m_open; }
    /// The run that is open by itself, and who follows it; null: an experiment is open, or nothing.
    [[nodiscard]] core::RunStore *run() const { return m_run.get(); }
    [[nodiscard]] core::RunFollower *runFollower() const { return m_runFollower.get(); }
    [[nodiscard]] core::RunSet &runs() { return m_runs; } ///< of what is open
    /// Whether all of these have ended and were read completely.
    [[nodiscard]] bool complete() const;
    /// Whether everything written so far has been read.
    [[nodiscard]] bool isRead() const;

Q_SIGNALS:
    void openChanged();                    ///< another experiment or run is open
    void openExperimentChanged();          ///< states, ids or control of the one that is open
    void onStripChanged();                 ///< another experiment, or its states, ids, control
    void polled();                         ///< lookForRunning() was due
    void refused(const QString &sentence); ///< by a queue on another machine

private:
    core::ExperimentFollower *followerFor(const QString &id, Error *error);
    void show(core::ExperimentFollower *follower);
    void clearOpen();
    void dropUnused();
    bool runsUnowned(const std::string &id);

    /// The newest experiment where nobody owns it: which runs its document calls current, as of this stamp.
    struct Unowned {
        std::string id, stamp;
        std::vector<std::string> runs;
    };
    Unowned m_unowned;
    std::vector<std::unique_ptr<core::ExperimentFollower>> m_followers;
    core::ExperimentFollower *m_open = nullptr;
    core::ExperimentFollower *m_running = nullptr;
    std::unique_ptr<core::RunStore> m_run;
    std::unique_ptr<core::RunFollower> m_runFollower;
    core::RunSet m_runs{this};
    std::map<std::string, std::string> m_overAt; ///< stamps of experiments that were over: not read again
    QTimer m_poll;
};

} // namespace lockstep::ui
