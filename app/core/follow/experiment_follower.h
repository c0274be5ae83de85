#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>

#include "follow/control_seat.h"
#include "launch/experiment_time.h"
#include "launch/queue_request.h"

namespace lockstep::core {
class QueueBridge;
struct QueueOrigin;
struct QueueSight;
class RunFollower;
class RunStore;

/// Follows an experiment as any viewer does: its queue by experiment.json, or over ssh where it lives on another machine
/// (queue_bridge.h), and each of its runs from the first frame.
class ExperimentFollower : public QObject {
    Q_OBJECT
public:
    explicit ExperimentFollower(QObject *parent = nullptr);
    ~ExperimentFollower() override;

    [[nodiscard]] Result<void> open(const std::string &experimentId);
    [[nodiscard]] const Experiment &experiment() const { return m_experiment; }
    /// Whether a live process owns the queue; false with entries queued: "the queue waits: take it up".
    [[nodiscard]] bool owned() const { return m_owned; }
    /// The machine that keeps the queue; empty: this one.
    [[nodiscard]] QString queueHost() const;
    /// Why nobody knows now how the queue stands: it lives elsewhere and the link is lost, or not up yet. Empty: it is known.
    [[nodiscard]] QString unknownWhy() const;
    /// Who holds control; nothing when nobody ever took it.
    [[nodiscard]] const std::optional<ControlHolder> &holder() const { return m_holder; }
    /// Whether another living viewer holds it: this one is read-only.
    [[nodiscard]] bool readOnly() const { return m_heldElsewhere; }
    /// Takes control if nobody holds it, or from whoever does.
    [[nodiscard]] Result<void> control(const QString &by, bool takeOver);
    /// That machine says that there is no such queue: trying again won't help.
    [[nodiscard]] bool linkFailed() const;
    /// Its owner is gone, as far as that can be known.
    [[nodiscard]] bool orphaned() const { return !m_owned && !m_experiment.over() && unknownWhy().isEmpty(); }
    /// The store of an entry, from the moment it has a run id.
    [[nodiscard]] RunStore *store(int entry) const;
    [[nodiscard]] std::vector<RunStore *> stores() const;   ///< by entry
    [[nodiscard]] std::vector<RunStore *> currents() const; ///< of the runs that run now
    [[nodiscard]] RunStore *current() const;                ///< the first of them
    /// Of the whole experiment (launch/experiment_time.h): 0..1, and seconds until its queue is empty; absent when unknown.
    [[nodiscard]] std::optional<double> progress() const;
    [[nodiscard]] std::optional<double> leftS() const;
    /// Asks the owner to stop the queue and the current runs.
    [[nodiscard]] Result<void> stop(const QString &by);
    /// Asks for a trace of the next steps of each run that runs now.
    [[nodiscard]] Result<void> trace(std::int64_t steps, const QString &by);
    /// Asks anything of the queue; refused while another living viewer holds control.
    [[nodiscard]] Result<void> ask(QueueRequest request);

Q_SIGNALS:
    void experimentChanged(); ///< states, ids, ownership, control, the link to a queue elsewhere
    void
    refused(const QString &sentence); ///< what was asked of a queue elsewhere, told by that machine or by a broken link
    void runAdded(int entry, lockstep::core::RunStore *store);
    void runEnded(int entry);

private:
    void reread();
    void bridge(const QueueOrigin &origin);
    void take(const QueueSight &sight);
    void followRuns();
    void fetchMore();
    void watch();
    void folderRemoved();
    void forget(int entry);
    [[nodiscard]] ExperimentClock clock() const;
    Experiment m_experiment;
    std::string m_id, m_stamp;
    void lookAtSeat();
    bool m_owned = false, m_heldElsewhere = false;
    std::optional<ControlHolder> m_holder;
    std::unique_ptr<QueueBridge> m_bridge; ///< of a queue elsewhere
    QFileSystemWatcher m_watcher;
    QTimer m_poll;
    std::map<int, std::unique_ptr<RunStore>> m_stores;
    std::map<int, std::unique_ptr<RunFollower>> m_followers;
    std::deque<int>
        m_toFetch; ///< over, elsewhere, not yet asked for: so many connections at once would be refused there
    std::set<int> m_fetching;
};

} // namespace lockstep::core
