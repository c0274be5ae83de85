// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/agent/net/unauthenticated_peers.h"
#include "trainer/agent/nodes/gathered_node_facts.h"
#include "trainer/agent/nodes/node_hub.h"
#include "trainer/agent/session/failure_cause.h"
#include "trainer/agent/session/lost_nodes.h"
#include "trainer/agent/session/run_role.h"
#include "trainer/agent/session/trace_collection.h"

namespace lockstep::agent {

/// Node 0 of several. It decides for the whole run: it lets the other nodes join, starts the ranks of all nodes or of
/// none, decides about restarts, and determines how the run has ended.
///   Joining → (all have joined) Running ⇄ restart → (the ranks here are over) Waiting for the other nodes → Settled
/// A stop ends the ranks of all nodes, also while only other nodes' are left: the first asks them, the second kills them, the third
/// waits for no node any more.
/// A run that cannot start, or is stopped before, goes from Joining to Settled.
class FirstNode final : public RunRole {
public:
    FirstNode(LocalRun &local, Hooks hooks);
    ~FirstNode() override;

    Result<void> begin() override; ///< listens; the ranks start when all nodes have joined
    [[nodiscard]] JoinPoint joinPoint() const override { return {m_hub->join(), m_hub->token()}; }
    void stop(const std::string &by) override;
    void askRanks(const Control &control) override;
    void onRankFailed(int rank, const ProcessExit &exit, const std::string &reason) override;
    void onRanksGone() override;
    void onRanksOver() override;
    void collectTraces() override;
    void finishTraces(std::function<void()> done) override { m_traces.finish(std::move(done)); }
    void giveTracesUp() override { m_traces.giveUp(); }
    void sendLog() override {}
    void addToResult(RunResult &result) const override;
    void onResultWritten() override;
    void leave(std::function<void()> done) override;

private:
    void openHub();
    void writeJoinFile();
    void removeJoinFile();
    void onAllJoined();
    void recordNodes(int worldSize);
    void sendGo();
    void onNodeFailed(const NodeMessage &failed);
    void onLink(const LinkFrame &link);
    void onRefused(const std::string &message);
    void checkRestart();
    void restart(const std::string &reason);
    void checkNodesEnded();
    void endWithNodes();
    void addNodesEnd();
    void addNodesTime();
    void addUnreported();
    [[nodiscard]] bool onlyLostAreLeft() const;
    [[nodiscard]] bool endsAnyway() const;
    [[nodiscard]] bool stopAsked() const { return m_stops > 0; }
    void endBeforeStart(RunState state, int code, const std::string &reason);
    void settle();
    void cancelTimers();
    [[nodiscard]] std::vector<RankTrace> tracesOfAll() const;

    LocalRun &m_local;
    Hooks m_hooks;
    std::unique_ptr<NodeHub> m_hub; ///< from begin() on
    std::optional<LostNodes> m_lostNodes;
    std::optional<TrainerQuestion> m_trainer; ///< started while the other nodes join
    FailureCause m_cause;
    TraceCollection m_traces;
    EventLoop::Token m_joinTimer = 0, m_restartTimer = 0, m_endTimer = 0, m_leaveTimer = 0;
    int m_restarts = 0, m_leaveChecks = 0, m_stops = 0;
    std::int64_t m_stopNs = 0; ///< of the last stop
    std::string m_stopBy;      ///< of the first
    LimitedRefusals m_refusals;
    bool m_settled = false;
};

} // namespace lockstep::agent
