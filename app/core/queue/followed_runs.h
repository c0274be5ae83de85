// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <QObject>

#include "base/request.h"
#include "experiment/experiment.h"
#include "experiment/experiment_time.h"

namespace lockstep::core {
class RunFollower;
class RunStore;

/// The runs of an experiment, each followed from its first frame into a store of its own.
class FollowedRuns : public QObject {
    Q_OBJECT
public:
    explicit FollowedRuns(QObject *parent = nullptr);
    ~FollowedRuns() override;

    /// Follows the entries that have started, each once. Forgets the earlier run of an entry that was queued again.
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
    void fetchMore();
    void forget(int entry);

    std::map<int, std::unique_ptr<RunStore>> m_stores;
    std::map<int, std::unique_ptr<RunFollower>> m_followers; ///< destroyed before their stores
    std::deque<int>
        m_toFetch; ///< finished runs elsewhere; fetched a few at a time, since sshd refuses many connections
    std::set<int> m_fetching;
};

} // namespace lockstep::core
