// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ipc/clock.h"
#include "trainer/agent/devices/earlier_processes.h"
#include "trainer/agent/log/disk_watch.h"
#include "trainer/agent/log/frame_intake.h"
#include "trainer/agent/log/new_run_folder.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/log/run_socket.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/ranks/launch_plan.h"
#include "trainer/agent/ranks/supervisor.h"
#include "trainer/agent/session/rank_watch.h"
#include "trainer/agent/session/ranks_in_turns.h"
#include "trainer/agent/session/run_end.h"
#include "trainer/agent/session/run_samples.h"

namespace lockstep::agent {

/// One node's part of a run, whatever the node's role: the folder, the log, the socket for ranks and followers, the
/// ranks, and the samples of its devices. All calls on the loop's thread, which must be the process's main thread.
///   Waiting → startRanks() → Started → Over: the ranks have ended and are not restarted
///   Waiting → endWithoutRanks() → Over
class LocalRun {
public:
    struct Handlers {
        std::function<void(int rank, ConsoleTap::Stream, std::string_view line)> onConsoleLine;
        std::function<void(const Control &control)> onControl;
        std::function<void()> onSecond;
        std::function<void(int rank, const ProcessExit &exit, const std::string &reason)> onRankFailed;
        std::function<void()> onRanksGone; ///< several nodes only: they may be restarted
        std::function<void()> onRanksOver;
    };
    LocalRun(EventLoop &loop, const Clock &clock, LaunchPlan plan, GroupKeeper keeper, NewRunFolder folder);
    ~LocalRun();

    /// Opens the log and binds the socket. On an error the folder stays; the caller discards it.
    Result<void> open(std::unique_ptr<Nvml> nvml, Handlers handlers);
    void startTimers();
    /// Call in Waiting. An error leaves no rank running; the caller ends the run.
    Result<void> startRanks();
    /// Call in Waiting: no rank starts here. Returns false and changes nothing if the run was over already.
    bool endWithoutRanks(RunState state, int code, const std::string &reason);

    [[nodiscard]] EventLoop &loop() { return m_loop; }
    [[nodiscard]] const Clock &clock() const { return m_clock; }
    [[nodiscard]] LaunchPlan &plan() { return m_plan; }
    [[nodiscard]] const LaunchPlan &plan() const { return m_plan; }
    [[nodiscard]] const std::string &host() const { return m_host; }
    [[nodiscard]] NewRunFolder &newFolder() { return m_folder; }
    [[nodiscard]] const RunFolder &folder() const { return m_folder.folder(); }
    [[nodiscard]] RunJournal &journal() { return *m_journal; }
    [[nodiscard]] RunSocket &socket() { return *m_socket; }
    [[nodiscard]] DiskWatch &disk() { return *m_disk; }
    [[nodiscard]] bool started() const { return m_supervisor != nullptr; }
    [[nodiscard]] Supervisor &ranks() { return *m_supervisor; }                            ///< once started
    [[nodiscard]] const ReportedSummary &reported() const { return m_intake->reported(); } ///< once started
    [[nodiscard]] EpochNumbers::Made made() const { return m_intake->made(); }             ///< once started
    /// What the ranks of all nodes had made when they are started again; say it before ranks().again().
    void agreeOn(const EpochNumbers::Made &made) { m_agreed = made; }
    [[nodiscard]] EpochNumbers::Made agreed() const { return m_agreed.value_or(EpochNumbers::Made()); }
    [[nodiscard]] bool over() const { return m_over; }
    [[nodiscard]] RunEnd &end() { return m_end; } ///< of the ranks here; the role adds what other nodes report
    /// Ranks ran until then (monotonic), here or on another node: the run took no less time. Once started.
    void lastsUntil(std::int64_t monoNs);
    /// The ranks are about to start: the record counts the run's time from now. The caller writes it.
    void beginsNow() { m_plan.record.startWallUs = m_clock.wallUs(); }
    /// Writes the record in the background. An alert "`lacks` not in config.json" where that fails.
    void writeRecord(const std::string &lacks);

    void reapStrays(); ///< reaps orphans of ranks; call on SIGCHLD
    void alert(AlertName name, std::string message);
    void onRankFrame(int rank, const Frame &frame); ///< of any node's rank, at agent 0
    void askRanks(const Control &control);          ///< those here, for a trace of their next steps or for their stacks
    void writeEnd();                                ///< writes the final state into the log
    [[nodiscard]] RunResult result(const std::string &summaryText); ///< of summary.json, empty if there is none
    void resultUnwritten(const Error &why); ///< the run's end says so, and a command that would end with 0 ends with 1
    /// Adds what the samples of this node say so far: its energy, what went on besides.
    void addSamplesTo(RunResult &result) const { m_samples->addTo(result); }

private:
    void openSocket();
    Result<void> removeEarlierSummary();
    void addFiles();
    [[nodiscard]] std::vector<Sampler::Watched> sampledRanks() const;
    void removeSocketLater(); ///< if this process is killed
    void makeIntake();
    bool adopt(int rank);
    void makeSupervisor();
    Result<void> joinTurns();
    void everySecond();
    void checkFolder();
    void checkHang();
    void writeTraining(const std::string &detail);
    void onRanksOver();
    void endTimers();
    void endStrays();
    void watchKeeper();
    void onKeeperGone();

    EventLoop &m_loop;
    const Clock &m_clock;
    LaunchPlan m_plan;
    GroupKeeper m_keeper;
    NewRunFolder m_folder;
    std::string m_host;
    Handlers m_handlers;
    std::unique_ptr<RunJournal> m_journal;
    std::optional<RankWatch> m_watch; ///< at agent 0, from open() on
    std::unique_ptr<RunSocket> m_socket;
    EarlierProcesses m_earlier; ///< noted by open()
    std::unique_ptr<RunSamples> m_samples;
    std::optional<DiskWatch> m_disk;
    std::unique_ptr<FrameIntake> m_intake; ///< once started
    std::optional<EpochNumbers::Made> m_agreed;
    std::unique_ptr<Supervisor> m_supervisor; ///< once started
    std::unique_ptr<RanksInTurns> m_turns;    ///< once started, of a run that takes turns
    EventLoop::Token m_keeperToken = 0, m_sampleTimer = 0, m_secondTimer = 0, m_quietTimer = 0;
    bool m_training = false, m_over = false;
    RunEnd m_end;
};

} // namespace lockstep::agent
