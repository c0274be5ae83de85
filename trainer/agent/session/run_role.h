// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "trainer/agent/session/local_run.h"

namespace lockstep::agent {

/// Where the agents of other nodes find this one, and the secret that lets them in. Empty: nobody joins.
struct JoinPoint {
    std::string address, token;
};

/// What this node is in its run: alone (SingleNode), the first of several and the run's authority (FirstNode), or a further one
/// that does as the first says (FurtherNode). A role begins the run, hears of its ranks, and settles it:
///   begin() → the ranks start, now or when all nodes have joined → onRanksOver() → Hooks::settle → onResultWritten() → leave()
/// All calls on the loop's thread.
class RunRole {
public:
    struct Hooks {
        std::function<void()> settle; ///< it is known how the run has ended: write the result, serve followers, leave
        std::function<void()> drop;   ///< the run never began here: nothing of it stays on this node
        std::function<void(const Control &control)> onControl; ///< a request that came through another node
    };
    virtual ~RunRole() = default;

    /// Starts the ranks or what has to come before them. FurtherNode runs the loop until node 0 has accepted it.
    virtual Result<void> begin() = 0;
    [[nodiscard]] virtual JoinPoint joinPoint() const { return {}; } ///< after begin()

    /// Not called once the run is settled; may be asked twice.
    virtual void stop(const std::string &by) = 0;
    virtual void trace(const Control &control) = 0; ///< of the ranks' next steps
    virtual void onRankFailed(int rank, const ProcessExit &exit, const std::string &reason) = 0;
    virtual void onRanksGone() = 0; ///< of several nodes: may be started again
    virtual void onRanksOver() = 0;
    virtual void stopWaiting() = 0; ///< the ranks here are over: settle without the other nodes

    virtual void collectTraces() = 0; ///< call every second, and when the ranks are over
    virtual void sendLog() = 0;       ///< call after each batch of the loop
    virtual void addToResult(RunResult &result) const = 0;
    virtual void onResultWritten() = 0;
    virtual void leave(std::function<void()> done) = 0; ///< calls `done` when the other nodes have heard of the end
};

/// The role that the run's plan gives this node. `local` outlives it.
[[nodiscard]] std::unique_ptr<RunRole> makeRole(LocalRun &local, RunRole::Hooks hooks);

} // namespace lockstep::agent
