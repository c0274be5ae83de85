// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ipc/frames.h"

namespace lockstep::core {

/// Where the time of a run goes: each rank's phases over the whole run so far, exact for finished epochs, from windows for the
/// current one. Steps that a rank makes again after a restart count once: they replace what it had made of that epoch
/// and later ones.
class RunPhases {
public:
    void take(int rank, const Frame &frame, const StepsFrame &body);
    void take(int rank, const EpochFrame &body);
    void forget(int rank, const EpochFrame &lost); ///< taken before; the rank was restarted and makes that epoch again

    [[nodiscard]] PhaseTimes of(int rank) const;
    [[nodiscard]] std::int64_t steps(int rank) const; ///< covered by of()
    /// Time of a rank's windows in the epoch that runs.
    [[nodiscard]] double runningS(int rank) const;
    /// DP: each device's own times in the parallel parts, over the windows that report them.
    [[nodiscard]] const std::vector<ReplicaTime> &replicas() const { return m_replicas; }
    [[nodiscard]] std::int64_t replicaSteps() const { return m_replicaSteps; } ///< covered by replicas()
    /// Of the slowest rank, over its last 30 s of training.
    [[nodiscard]] std::optional<double> secondsPerStep() const;

private:
    void addReplicas(const StepsFrame &body);
    void addKept(PhaseTimes &sum, const PhaseTimes &more); ///< without phases that the run has no room for

    struct Window {
        std::int64_t monoNs = 0, steps = 0;
        double additiveS = 0;
    };
    struct OfRank {
        PhaseTimes finished, current; ///< whole epochs; the epoch that runs
        std::int64_t finishedSteps = 0, currentSteps = 0;
        int currentEpoch = 0, reportedEpoch = 0; ///< the latter: the newest with an epoch frame
        std::int64_t reached = -1;               ///< step
        std::deque<Window> recent;
        void finish(const PhaseTimes &times, std::int64_t steps); ///< the epoch that runs took that long
    };
    std::map<int, OfRank> m_ranks;
    std::set<std::string, std::less<>> m_names; ///< of all phases that are kept
    std::vector<ReplicaTime> m_replicas;
    std::int64_t m_replicaSteps = 0;
};

} // namespace lockstep::core
