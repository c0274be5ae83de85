// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/clock.h"
#include "ipc/run_folder.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/log/run_socket.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/ranks/console_tap.h"
#include "trainer/agent/ranks/group_keeper.h"
#include "trainer/agent/ranks/launch_plan.h"
#include "trainer/agent/ranks/master_port.h"
#include "trainer/agent/ranks/rank_process.h"
#include "trainer/agent/ranks/supervised_rank.h"

namespace lockstep::agent {

/// The ranks of one run on this node, from spawn to the last one reaped:
///   Idle → Running → (Ending: a rank failed or a stop was requested; grace period, then SIGKILL) → Over
/// After a failure all ranks are restarted while restarts are left, unless they would only fail again. With several nodes agent 0 decides about that, so
/// the state is Gone until again() or settle(). Never waits. All calls on the loop's thread.
class Supervisor {
public:
    enum class State { Idle, Running, Ending, Gone, Over };
    static constexpr std::chrono::milliseconds graceAfterFailure{2000}, graceAfterStop{5000}, termAfterStop{2500};
    /// Stops within this time are one: Slurm sends several signals at once when it ends a job, and the same stop may come
    /// from two nodes; a person who repeats one takes longer.
    static constexpr std::int64_t sameStopNs = 1'000'000'000;

    struct Parts {
        EventLoop &loop;
        const Clock &clock;
        const LaunchPlan &plan;
        const RunFolder &folder;
        RunJournal &journal;
        RunSocket &socket;
        GroupKeeper &keeper;
        std::string host;
    };
    struct Handlers {
        std::function<void(int rank, ConsoleTap::Stream, std::string_view line)> onConsoleLine; ///< every line
        std::function<void()> onRestart;
        /// The failure that ends this node's ranks, once it is known. Called again if a death by a signal turns out to
        /// be the cause.
        std::function<void(int rank, const ProcessExit &exit, const std::string &reason)> onFailure;
        std::function<void()> onOver;
        std::function<void()> onGone; ///< several nodes only: the state is now Gone
    };
    Supervisor(Parts parts, Handlers handlers);
    ~Supervisor();

    /// Binds the master port and spawns every rank. Call it in Idle only. On an error no rank is left running.
    Result<void> start();
    /// Asks the ranks to stop. A second call, at least a second later, kills them at once. Ranks that have failed already
    /// stay failed, but are not started again.
    void stop(const std::string &by);
    /// Ends running ranks as failed, for a reason that lies in none of them. Does nothing in any other state.
    void abandon(AlertName why, const std::string &reason);
    /// The same after a failure on another node, which that node's log describes.
    void endWithOthers(const std::string &reason);
    /// In Gone: starts all ranks again; `number` counts the restarts from 1. On an error no rank is left running and
    /// the state stays Gone.
    Result<void> again(int number);
    void settle();                                                 ///< in Gone: no further restart
    [[nodiscard]] int masterPort() const { return m_master.port; } ///< after start()
    /// The failure of a rank on this node that ends the ranks.
    struct Failure {
        std::int64_t monoNs = 0;
        bool bySignal = false;
        bool peerLost = false;     ///< the rank itself reports that it lost another one, which is the cause
        int exitCode = exitFailed; ///< as in result.json
    };
    [[nodiscard]] std::optional<Failure> failure() const;

    [[nodiscard]] State state() const { return m_state; }
    [[nodiscard]] std::vector<Sampler::Watched> livingRanks() const;
    [[nodiscard]] ConsoleTap *console(int rank);

    // In Gone and Over only:
    [[nodiscard]] RunState outcome() const;
    [[nodiscard]] int exitCode() const;    ///< 0, 1, 2 or 130, as in result.json
    [[nodiscard]] int commandCode() const; ///< the failing rank's exit code, or 128 + its signal
    [[nodiscard]] const std::string &reason() const { return m_reason; }
    [[nodiscard]] std::vector<RankExit> exits() const;
    [[nodiscard]] std::int64_t endNs() const { return m_endNs; } ///< Over only; monotonic, as the next

    /// From the first start until then.
    [[nodiscard]] double runTimeS(std::int64_t untilNs) const;

private:
    using Rank = SupervisedRank;

    Result<void> spawnAll();
    Result<int> prepareMaster(Rank::Environment &environment);
    [[nodiscard]] Rank::Handlers rankHandlers();
    void collectExits();
    void reportExit(const Rank &rank);
    void considerFailure(const Rank &rank);
    [[nodiscard]] bool isBetterCause(const Rank &rank) const;
    [[nodiscard]] bool startsRanksItself() const;
    [[nodiscard]] std::string nameOf(const Rank &rank) const;
    [[nodiscard]] bool hasRefused(const Rank &rank) const;
    void killWhatLives();
    void endOthers(std::chrono::milliseconds grace);
    void killAll();
    void allGone();
    void finish();
    void alert(AlertName name, std::string message, std::optional<int> rank = std::nullopt);
    [[nodiscard]] bool allEnded() const;
    [[nodiscard]] bool stoppedByItself() const;
    void askRanksToStop(const std::string &by);

    Parts m_parts;
    Handlers m_handlers;
    State m_state = State::Idle;
    std::deque<Rank> m_ranks; ///< ranks do not move in memory
    MasterPort m_master;
    std::int64_t m_startNs = 0, m_endNs = 0, m_causeNs = 0, m_stopNs = 0;
    EventLoop::Token m_killTimer = 0, m_termTimer = 0;
    bool m_stopAsked = false, m_abandoned = false;
    bool m_noRestart = false; ///< a stop was asked, be it of ranks that had failed
    std::string m_stopBy, m_reason;
    const Rank *m_cause = nullptr; ///< the rank whose failure ends the run
    int m_restarts = 0;
};

} // namespace lockstep::agent
