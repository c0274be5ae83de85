// SPDX-License-Identifier: MIT
#pragma once
#include "trainer/agent/session/run_role.h"
#include "trainer/agent/session/trace_collection.h"

namespace lockstep::agent {

/// A run on this node alone: it ends when the ranks here do.
class SingleNode final : public RunRole {
public:
    SingleNode(LocalRun &local, Hooks hooks);

    Result<void> begin() override { return m_local.startRanks(); }
    void stop(const std::string &by) override { m_local.ranks().stop(by); }
    void askRanks(const Control &control) override { m_local.askRanks(control); }
    void onRankFailed(int, const ProcessExit &, const std::string &) override {} ///< the supervisor ends the others
    void onRanksGone() override {}                                               ///< never called for a single node
    void onRanksOver() override;
    void collectTraces() override;
    void finishTraces(std::function<void()> done) override { m_traces.finish(std::move(done)); }
    void giveTracesUp() override { m_traces.giveUp(); }
    void sendLog() override {}
    void addToResult(RunResult &result) const override;
    void onResultWritten() override {}
    void leave(std::function<void()> done) override { done(); }

private:
    LocalRun &m_local;
    Hooks m_hooks;
    TraceCollection m_traces;
};

} // namespace lockstep::agent
