// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include <QFileSystemWatcher>
#include <QObject>
#include <QPointer>
#include <QTimer>

#include "experiment/experiment_time.h"
#include "queue/control_seat.h"
#include "queue/followed_runs.h"
#include "queue/queue_request.h"

namespace lockstep::core {
class QueueBridge;
struct QueueOrigin;
struct QueueSnapshot;

/// Follows an experiment as a viewer: its queue by experiment.json, or over ssh if it is on another machine
/// (queue_bridge.h), and each of its runs from the first frame.
class ExperimentFollower : public QObject {
    Q_OBJECT
public:
    explicit ExperimentFollower(QObject *parent = nullptr);
    ~ExperimentFollower() override;

    [[nodiscard]] Result<void> open(const std::string &experimentId);
    [[nodiscard]] const Experiment &experiment() const { return m_experiment; }
    /// Whether a live process owns the queue. If not and entries are queued, the queue can be resumed.
    [[nodiscard]] bool owned() const { return m_owned; }
    /// The machine that runs the queue; empty: this one.
    [[nodiscard]] QString queueHost() const;
    /// Why the queue's state is unknown: it is on another machine and the link is lost or not up yet. Empty: it is
    /// known.
    [[nodiscard]] QString unknownWhy() const;
    /// Who holds control; nothing if nobody ever took it.
    [[nodiscard]] const std::optional<ControlHolder> &holder() const { return m_holder; }
    /// Whether another live viewer holds it, so that this one is read-only.
    [[nodiscard]] bool readOnly() const { return m_heldElsewhere; }
    /// Takes control if nobody holds it.
    [[nodiscard]] Result<void> claim(const QString &by);
    /// Takes control from its holder.
    [[nodiscard]] Asked takeOver(const QString &by);
    /// The other machine has no such queue: retrying won't help.
    [[nodiscard]] bool linkFailed() const;
    /// Whether its owner has ended, as far as known.
    [[nodiscard]] bool orphaned() const { return !m_owned && !m_experiment.over() && unknownWhy().isEmpty(); }
    /// The store of an entry, from the moment it has a run id.
    [[nodiscard]] RunStore *store(int entry) const { return m_runs.store(entry); }
    [[nodiscard]] std::vector<RunStore *> stores() const { return m_runs.stores(); } ///< by entry
    [[nodiscard]] std::vector<RunStore *> currents() const;                          ///< of the runs that run now
    [[nodiscard]] RunStore *current() const;                                         ///< the first of them
    /// Of the whole experiment (experiment/experiment_time.h): 0..1, and seconds until its queue is empty; absent when unknown.
    [[nodiscard]] std::optional<double> progress() const;
    [[nodiscard]] std::optional<double> leftS() const;
    /// Asks the owner to stop the queue and the current runs.
    [[nodiscard]] Asked stop(const QString &by);
    /// Requests a trace of each current run's next steps.
    [[nodiscard]] Asked trace(std::int64_t steps, const QString &by);
    [[nodiscard]] Asked stacks(const QString &by); ///< asks the ranks of each current run where they are
    /// Sends any request to the queue. Refused while another live viewer holds control, or while a queue without an
    /// owner is already being changed here. The request may outlive the follower.
    [[nodiscard]] Asked ask(QueueRequest request);

Q_SIGNALS:
    void experimentChanged();              ///< states, ids, ownership, control, the link to a queue elsewhere
    void refused(const QString &sentence); ///< a remote queue refused a request whose object is gone
    void runAdded(int entry, lockstep::core::RunStore *store);
    void runEnded(int entry);

private:
    void reread();
    void bridge(const QueueOrigin &origin);
    void take(const QueueSnapshot &snapshot);
    void watch();
    void folderRemoved();
    void readControl();

    Experiment m_experiment;
    std::string m_id, m_stamp;
    bool m_owned = false, m_heldElsewhere = false;
    std::optional<ControlHolder> m_holder;
    std::unique_ptr<QueueBridge> m_bridge; ///< to a remote queue
    QPointer<Request> m_changing;          ///< a local queue without an owner, whose runs are being stopped
    QFileSystemWatcher m_watcher;
    QTimer m_poll;
    FollowedRuns m_runs;
};

} // namespace lockstep::core
