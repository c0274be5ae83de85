// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <QObject>
#include <QTimer>

#include "base/request.h"
#include "experiment/experiment.h"
#include "experiment/experiment_time.h"

namespace lockstep::core {
class RunFollower;
class RunStore;
class StatusReader;

/// The runs of an experiment, each followed from its first frame into a store of its own.
class FollowedRuns : public QObject {
    Q_OBJECT
public:
    explicit FollowedRuns(QObject *parent = nullptr);
    ~FollowedRuns() override;

    /// Follows the entries that have started, each once. Forgets the earlier run of an entry that was queued again. Of the runs on
    /// another machine a few are followed at a time, the others when one of those has ended; and no more than `mostRunsRead` ever. Where
    /// records take long to read, further runs are begun in later turns of the event loop.
    void follow(const Experiment &experiment);
    void clear();

    [[nodiscard]] RunStore *store(int entry) const;       ///< null: not followed
    [[nodiscard]] std::vector<RunStore *> stores() const; ///< by entry
    /// Times of the entries, from their stores. Valid while this lives.
    [[nodiscard]] ExperimentClock clock() const;
    /// Asks the run of each of these entries that is followed; fails if none is: "…: WHY".
    [[nodiscard]] Asked ask(const std::vector<int> &entries, const std::function<Asked(RunFollower &)> &request,
                            const std::string &why);

Q_SIGNALS:
    void added(int entry, lockstep::core::RunStore *store);
    void ended(int entry);

private:
    /// Runs that are followed a few at a time.
    struct Turns {
        std::size_t most;
        std::deque<int> waiting{};
        std::set<int> underWay{};
    };
    [[nodiscard]] std::array<Turns *, 4> allTurns() {
        return {&m_runningHere, &m_endedElsewhere, &m_runningElsewhere, &m_endedHere};
    }
    void startMore();
    void forget(int entry);

    QTimer m_more;                            ///< starts further ones
    std::shared_ptr<StatusReader> m_statuses; ///< of all followers
    std::map<int, std::unique_ptr<RunStore>> m_stores;
    std::map<int, std::unique_ptr<RunFollower>> m_followers; ///< destroyed before their stores
    Turns m_runningHere{std::numeric_limits<std::size_t>::max()};
    Turns m_endedElsewhere{4};     ///< sshd accepts ten connections at once that have not logged in yet
    Turns m_runningElsewhere{32};  ///< a queue runs few at a time
    Turns m_endedHere{200};        ///< each holds its logs open while they are read
    std::set<std::string> m_named; ///< runs elsewhere, ever: another machine may name new ones without end
    bool m_full = false;           ///< they are too many, which was said
};

} // namespace lockstep::core
