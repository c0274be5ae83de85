// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ipc/clock.h"
#include "trainer/agent/log/disk_watch.h"
#include "trainer/agent/log/frame_intake.h"
#include "trainer/agent/log/new_run_folder.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/log/run_socket.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/ranks/launch_plan.h"
#include "trainer/agent/ranks/supervisor.h"
#include "trainer/agent/session/run_end.h"
#include "trainer/agent/session/run_samples.h"

namespace lockstep::agent {

/// What one node has of a run, whatever its role: the folder, the log, the socket for ranks and followers, the ranks and the
/// samples of its devices. All calls on the loop's thread, which must be the process's main one.
///   Waiting → startRanks() → Started → Over: the ranks have ended and are not started again
///   Waiting → endWithoutRanks() → Over
class LocalRun {
public:
    struct Handlers {
        std::function<void(int rank, ConsoleTap::Stream, std::string_view line)> onConsoleLine;
        std::function<void(const Control &control)> onControl;
        std::function<void()> onSecond;
        std::function<void(int rank, const ProcessExit &exit, const std::string &reason)> onRankFailed;
        std::function<void()> onRanksGone; ///< of several nodes: they may be started again
        std::function<void()> onRanksOver;
    };
    LocalRun(EventLoop &loop, const Clock &clock, LaunchPlan plan, GroupKeeper keeper, NewRunFolder folder);

    /// Opens the log and binds the socket. An error leaves the folder, which the caller discards.
    Result<void> open(std::unique_ptr<Nvml> nvml, Handlers handlers);
    void startTimers();
    /// In Waiting. An error leaves no rank running; the caller ends the run.
    Result<void> startRanks();
    /// In Waiting: no rank starts here. False, and nothing is changed, when it was over already.
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
    [[nodiscard]] bool started() const { return m_supervisor != nullptr; }
    [[nodiscard]] Supervisor &ranks() { return *m_supervisor; }                            ///< once started
    [[nodiscard]] const ReportedSummary &reported() const { return m_intake->reported(); } ///< once started
    [[nodiscard]] bool over() const { return m_over; }
    [[nodiscard]] RunEnd &end() { return m_end; } ///< what the ranks here came to, and the other nodes added

    void reapStrays(); ///< what ranks left behind; call on SIGCHLD
    void alert(std::string severity, std::string kind, std::string message);
    void recordTrace(const Control &control); ///< asks the ranks here for a trace of their next steps
    void writeEnd();                          ///< the last state, into the log
    [[nodiscard]] RunResult result() const;

private:
    void openSocket();
    void addSummaryFile();
    void makeIntake();
    void makeSupervisor();
    void everySecond();
    void writeTraining(const std::string &detail);
    void onRanksOver();
    void endTimers();

    EventLoop &m_loop;
    const Clock &m_clock;
    LaunchPlan m_plan;
    GroupKeeper m_keeper;
    NewRunFolder m_folder;
    std::string m_host;
    Handlers m_handlers;
    std::unique_ptr<RunJournal> m_journal;
    std::unique_ptr<RunSocket> m_socket;
    std::unique_ptr<RunSamples> m_samples;
    std::optional<DiskWatch> m_disk;
    std::unique_ptr<FrameIntake> m_intake;    ///< once started
    std::unique_ptr<Supervisor> m_supervisor; ///< once started
    EventLoop::Token m_sampleTimer = 0, m_secondTimer = 0, m_quietTimer = 0;
    bool m_training = false, m_over = false;
    RunEnd m_end;
};

} // namespace lockstep::agent
