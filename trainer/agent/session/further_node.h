// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "trainer/agent/nodes/node_link.h"
#include "trainer/agent/session/run_role.h"
#include "trainer/agent/session/trace_sender.h"

namespace lockstep::agent {

/// Node K > 0 of several: joins node 0 over a link, starts and ends its ranks as node 0 orders, and sends it the log
/// and the traces. Without the link the ranks go on for a limited time, the lease.
///   Joining → Joined → (go) Running → (all gone) waits for go or settle → (the ranks here are over) Reported → (end) Settled
/// A run that ends before `go` leaves nothing on this node. A stop that is asked here is agent 0's to give; if it does not
/// within two seconds, or the link is lost, the ranks here are stopped, and agent 0 learns of it when the link is back.
/// When the ranks here are over, a second stop ends the node without agent 0.
class FurtherNode final : public RunRole {
public:
    FurtherNode(LocalRun &local, Hooks hooks);
    ~FurtherNode() override;

    Result<void> begin() override; ///< blocks until node 0 has accepted or refused this node; a signal ends it
    void stop(const std::string &by) override;
    void askRanks(const Control &control) override { m_local.askRanks(control); }
    void onRankFailed(int rank, const ProcessExit &exit, const std::string &reason) override;
    void onRanksGone() override;
    void onRanksOver() override { reportOver(); }
    void collectTraces() override { m_traces->sendNew(); }
    void sendLog() override { m_link->pump(); }
    void addToResult(RunResult &result) const override;
    void onResultWritten() override { m_link->close(); }
    void leave(std::function<void()> done) override { done(); }

private:
    void openLink();
    void refuseJoin(Error why);
    void onRefused(const Error &why);
    void endWithoutNode0(const std::string &why);
    void onOrder(const NodeMessage &message);
    void onGo(const NodeMessage &message);
    Result<void> startRanks(const NodeMessage &go);
    void onAbort(const NodeMessage &message);
    void onStop(const NodeMessage &message);
    void onEnd(const NodeMessage &message);
    void reportStartFailed(const Error &why);
    void reportOver();
    void addSamplesTo(NodeMessage &over) const;
    void askNode0ToStop();
    void stopHere();
    void onLinkLost(const std::string &why);
    void onLinkBack();
    void checkLease();
    void checkNode0Gone();
    void endBeforeStart(RunState state, int code, const std::string &reason);
    void settle();
    [[nodiscard]] int node() const { return m_local.plan().nodes.node; }

    LocalRun &m_local;
    Hooks m_hooks;
    std::unique_ptr<NodeLink> m_link;    ///< from begin() on
    std::optional<TraceSender> m_traces; ///< likewise
    std::optional<Error> m_joinError;
    EventLoop::Token m_joinTimer = 0, m_refusedTimer = 0, m_leaseTimer = 0, m_endTimer = 0, m_stopTimer = 0;
    std::int64_t m_stopNumber = 0;       ///< number of node 0's last stop, which node 0 repeats after a cut
    std::int64_t m_stopNs = 0;           ///< when the last stop came, from node 0 or from here
    std::optional<std::string> m_stopBy; ///< who asked for a stop here that agent 0 has not given yet
    bool m_stoppedHere = false;          ///< the ranks here were stopped without it
    bool m_stoppedWaiting = false;       ///< a stop was asked here while agent 0's end was waited for
    bool m_joined = false;
    bool m_refused = false; ///< agent 0 takes another agent for this node
    int m_restarts = 0;
};

} // namespace lockstep::agent
