// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "trainer/agent/session/local_run.h"

namespace lockstep::agent {

/// Where agents of other nodes reach this one, and the token that lets them in. Empty: no other node joins.
struct JoinPoint {
    std::string address, token;
};

/// The role of this node in its run: alone (SingleNode), the first of several, which decides (FirstNode), or another
/// one, which follows the first (FurtherNode). A role begins the run, is notified about its ranks, and settles it:
///   begin() → the ranks start, now or when all nodes have joined → onRanksOver() → Hooks::settle → onResultWritten() → leave()
/// All calls on the loop's thread.
class RunRole {
public:
    struct Hooks {
        std::function<void()> settle; ///< the outcome is known: write the result, serve followers, leave
        std::function<void()> drop;   ///< the run never began here: remove everything of it from this node
        std::function<void(const Control &control)> onControl; ///< a request that came through another node
    };
    virtual ~RunRole() = default;

    /// Starts the ranks, or what must happen before. FurtherNode runs the loop until node 0 has accepted it.
    virtual Result<void> begin() = 0;
    [[nodiscard]] virtual JoinPoint joinPoint() const { return {}; } ///< after begin()

    /// May be called again, also while only other nodes are waited for, but not once the run is settled.
    virtual void stop(const std::string &by) = 0;
    virtual void askRanks(const Control &control) = 0; ///< for a trace of their next steps, or for their stacks
    virtual void onRankFailed(int rank, const ProcessExit &exit, const std::string &reason) = 0;
    virtual void onRanksGone() = 0; ///< several nodes only: they may be restarted
    virtual void onRanksOver() = 0;

    virtual void collectTraces() = 0; ///< call every second, and when the ranks are over
    /// Calls `done` once the traces that were collected are merged, at most half a minute later. Once settled.
    virtual void finishTraces(std::function<void()> done) { done(); }
    virtual void giveTracesUp() {} ///< finishTraces() calls `done` a moment later
    virtual void sendLog() = 0;    ///< call after each batch of the loop
    virtual void addToResult(RunResult &result) const = 0;
    virtual void onResultWritten() = 0;
    virtual void leave(std::function<void()> done) = 0; ///< calls `done` when the other nodes know of the end
};

/// Makes the role that the run's plan gives this node. `local` outlives it.
[[nodiscard]] std::unique_ptr<RunRole> makeRole(LocalRun &local, RunRole::Hooks hooks);

} // namespace lockstep::agent
