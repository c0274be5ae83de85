// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QTimer>

#include <optional>
#include <vector>

#include "lab/lab_job.h"
#include "models/experiment_model.h"

namespace lockstep::ui {
class FollowedWork;

/// The content of the strip on top: the running experiment's, else the open one's.
class StripState : public QObject {
    Q_OBJECT
public:
    explicit StripState(FollowedWork &work, QObject *parent = nullptr);

    [[nodiscard]] core::ExperimentModel::Strip now() const;
    /// Whether it shows a lab, since no experiment runs.
    [[nodiscard]] bool showsLab() const;
    /// The experiment on the strip and its queue.
    [[nodiscard]] core::ExperimentModel &queue() { return m_queue; }
    [[nodiscard]] QString id() const;           ///< of the experiment, or of the run by itself
    [[nodiscard]] QString method() const;       ///< of the run that the strip names
    [[nodiscard]] QString linkSentence() const; ///< the window's link to it, and the links between its nodes
    [[nodiscard]] QString lostNodes() const;    ///< of several nodes, while a link between them is lost; else empty
    /// "lockstep on box (pid 123)" while another viewer holds control; empty otherwise.
    [[nodiscard]] QString heldBy() const;
    [[nodiscard]] int queuedRuns() const;  ///< that wait behind what runs
    [[nodiscard]] int droppedRuns() const; ///< that left the queue before they began: stopped, or refused
    /// Its runs that failed and were not repeated.
    [[nodiscard]] std::vector<core::ExperimentModel::Failure> failures() const;
    /// The id of the experiment on the strip if it is not the open one.
    [[nodiscard]] QString runningElsewhere() const;

Q_SIGNALS:
    void changed(); ///< progress, state, ownership

private:
    [[nodiscard]] const core::RunStore *currentRun() const;
    [[nodiscard]] core::ExperimentModel::Strip ofWork() const;
    [[nodiscard]] core::ExperimentModel::Strip ofLab() const;
    void lookForLab();
    void changesSoon(); ///< says so once for many runs whose frames come at the same time

    FollowedWork &m_work;
    core::ExperimentModel m_queue;
    std::optional<core::LabProgress> m_lab; ///< read while no experiment runs
    QTimer m_soon;
};

} // namespace lockstep::ui
