// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "ipc/clock.h"
#include "ipc/run_folder.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/session/hang_watch.h"
#include "trainer/agent/session/slow_rank_watch.h"

namespace lockstep::agent {

/// Looks in the frames of all nodes' ranks for what holds the run up, hangs and slow ranks, and writes alerts of it into the log.
class RankWatch {
public:
    /// `record`: the run's, as far as it is known; hang_after of its settings counts. The journal must outlive the watch.
    RankWatch(const Clock &clock, RunJournal &journal, const RunRecord &record);
    void setRecord(const RunRecord &record);

    void take(int rank, const Frame &frame); ///< frames of the present: a hang is found by the time that passes
    /// Call each second. Whether a hang has begun; then where all ranks are should be asked before anybody ends them. `processOf`: as
    /// HangWatch::check() takes it.
    [[nodiscard]] bool hangBegins(int rankCount, const std::function<std::string(int rank)> &processOf);
    void startOver(); ///< all ranks were started again
    /// This rank has a new process. `first`: of those that are started again together; the collectives of all count from 0 then.
    void startOver(int rank, bool first);

private:
    const Clock &m_clock;
    RunJournal &m_journal;
    HangWatch m_hangs;
    SlowRankWatch m_slowRanks;
};

} // namespace lockstep::agent
