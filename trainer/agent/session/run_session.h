// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "trainer/agent/net/signal_watch.h"
#include "trainer/agent/session/local_run.h"
#include "trainer/agent/session/result_writer.h"
#include "trainer/agent/session/run_role.h"

namespace lockstep::agent {

/// One run on this node, from its folder to the end of its agent: this node's part of the run (LocalRun), its role
/// (RunRole), and its end. All calls on the calling thread, which must be the process's main thread.
///   start() → Running → (the role settles it) Settled: result.json → followers get the rest → other nodes leave → run() returns
class Session {
public:
    using OnConsoleLine = std::function<void(int rank, ConsoleTap::Stream, std::string_view line)>;

    /// Makes the folder, opens the log, binds the socket and begins the role: a single node starts its ranks, the first
    /// of several listens, another one joins. An error leaves nothing behind.
    static Result<std::unique_ptr<Session>> start(LaunchPlan plan, GroupKeeper keeper, std::unique_ptr<Nvml> nvml,
                                                  OnConsoleLine onConsoleLine);

    [[nodiscard]] const std::string &runId() const { return m_local.plan().record.run; }
    [[nodiscard]] const RunFolder &folder() const { return m_local.folder(); }
    [[nodiscard]] const std::string &socketPath() { return m_local.socket().path(); }
    [[nodiscard]] EventLoop &loop() { return m_loop; }
    [[nodiscard]] JoinPoint joinPoint() const { return m_role->joinPoint(); }
    [[nodiscard]] int node() const { return m_local.plan().nodes.node; }

    const RunEnd &run(); ///< returns when the run is over and its followers have everything

    void stop(const std::string &by);
    /// Called once if the run is over and its result can't be written yet, with why. SIGINT or SIGTERM gives it up.
    void onWaits(std::function<void(const std::string &sentence)> onWaits) { m_onWaits = std::move(onWaits); }
    void discard() { m_local.newFolder().discard(); } ///< after run(): removes everything of the run from this node

private:
    Session(LaunchPlan plan, GroupKeeper keeper, NewRunFolder folder);
    Result<void> open(std::unique_ptr<Nvml> nvml, OnConsoleLine onConsoleLine);
    void onControl(const Control &control);
    void onSignal(int number);
    void settle();
    void writeResult();
    void drop();

    SystemClock m_clock;
    EventLoop m_loop;
    LocalRun m_local;
    std::unique_ptr<RunRole> m_role;      ///< from open() on
    std::optional<ResultWriter> m_result; ///< once settled
    std::optional<SignalWatch> m_signals;
    std::function<void(const std::string &)> m_onWaits;
    bool m_settled = false;
};

/// Blocks the signals that a session reads through a descriptor. Call it first in main, before any thread starts.
void blockSessionSignals();

} // namespace lockstep::agent
