// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ipc/clock.h"
#include "ipc/frames.h"
#include "ipc/run_folder.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/ranks/group_keeper.h"
#include "trainer/agent/ranks/launch_plan.h"
#include "trainer/agent/ranks/turns.h"
#include "trainer/agent/session/run_samples.h"

namespace lockstep::agent {

/// The ranks of a run that takes turns with others (RunRecord::inTurns): paused with all that they have started, so that neither their
/// clocks nor the samples count a pause. All calls on the loop's thread.
class RanksInTurns {
public:
    /// Adds what the ranks need to the plan's environment, so call it before they are started. `folder`: that of the agents' sockets.
    /// The references, and what `living` needs, outlive it. An error if this run can't take turns.
    static Result<std::unique_ptr<RanksInTurns>> join(EventLoop &loop, const Clock &clock, LaunchPlan &plan,
                                                      const std::string &folder, GroupKeeper &keeper,
                                                      RunSamples &samples, RunSamples::Ranks living);

    void begin() { m_turns->begin(); } ///< the ranks run: pauses them until it is their turn
    /// What a rank reports, from begin() on: pauses are counted from its first steps to its last.
    void take(int rank, const Frame &frame);
    void end();                             ///< the ranks are over: the other runs go on
    [[nodiscard]] TurnsTaken taken() const; ///< so far; a pause that lasts counts from its end on

private:
    RanksInTurns(PausedTime paused, RunSamples &samples, RunSamples::Ranks living);
    void pause();
    void goOn();
    void stepsReported();
    void signal(int number) const;
    [[nodiscard]] std::vector<pid_t> processes() const;

    PausedTime m_paused;
    RunSamples &m_samples;
    RunSamples::Ranks m_living;
    std::unique_ptr<Turns> m_turns; ///< until end()
    bool m_stepsSeen = false;
    std::int64_t m_pauses = 0, m_waiting = 0; ///< since the first steps, up to now
    std::set<int> m_leavingOut;               ///< ranks that say that they leave pauses out
    TurnsTaken m_taken;                       ///< up to the last steps
};

} // namespace lockstep::agent
