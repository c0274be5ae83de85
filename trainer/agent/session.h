#pragma once
#include <memory>
#include <optional>
#include <string>

#include "ipc/clock.h"
#include "trainer/agent/event_loop.h"
#include "trainer/agent/frame_intake.h"
#include "trainer/agent/launch_plan.h"
#include "trainer/agent/new_run_folder.h"
#include "trainer/agent/run_journal.h"
#include "trainer/agent/run_socket.h"
#include "trainer/agent/sampler.h"
#include "trainer/agent/supervisor.h"
#include "trainer/agent/surroundings_meter.h"
#include "trainer/agent/watching_meter.h"

namespace lockstep::agent {

/// One run on this node from its folder to result.json: journal, socket, ranks, samples, heartbeat.
/// Everything runs on the calling thread, which must be the process's main one.
class Session {
public:
    struct Ending {
        int resultCode = 1;  ///< 0, 1, 2, 130
        int commandCode = 1; ///< of `run`: the failing rank's own
        std::string reason;
    };
    using OnConsoleLine = std::function<void(int rank, ConsoleTap::Stream, std::string_view line)>;

    /// Makes the folder, opens the journal, binds the socket, spawns the ranks. An error leaves nothing behind.
    static Result<std::unique_ptr<Session>> start(LaunchPlan plan, GroupKeeper keeper, std::unique_ptr<Nvml> nvml,
                                                  OnConsoleLine onConsoleLine);
    ~Session();

    [[nodiscard]] const std::string &runId() const { return m_plan.record.run; }
    [[nodiscard]] const RunFolder &folder() const { return m_folder.folder(); }
    [[nodiscard]] const std::string &socketPath() const { return m_socket->path(); }
    [[nodiscard]] EventLoop &loop() { return m_loop; }

    Ending run(); ///< until the run is over and its followers have all

private:
    Session(LaunchPlan plan, GroupKeeper keeper, NewRunFolder folder);
    Result<void> open(std::unique_ptr<Nvml> nvml, OnConsoleLine onConsoleLine);
    void openSocketHandlers();
    void makeSupervisor(OnConsoleLine onConsoleLine);
    void startTimers();
    void askForTrace(const Control &control);
    void mergeTraces();
    void watchSignals();
    void onSignals();
    void sampleDevices();
    void everySecond();
    void watchFolder();
    void watchDisk();
    void reapStrays();
    void say(RunState state, std::string detail);
    void alert(std::string severity, std::string kind, std::string message);
    void onOver();
    void conclude();
    Result<void> writeResult();

    SystemClock m_clock;
    LaunchPlan m_plan;
    GroupKeeper m_keeper;
    NewRunFolder m_folder;
    std::string m_host;
    EventLoop m_loop;
    std::unique_ptr<RunJournal> m_journal;
    std::unique_ptr<RunSocket> m_socket;
    std::unique_ptr<Sampler> m_sampler;
    WatchingMeter m_watching;
    SurroundingsMeter m_surroundings{allowedCores()};
    std::unique_ptr<FrameIntake> m_intake;
    std::unique_ptr<Supervisor> m_supervisor;
    Fd m_signals;
    EventLoop::Token m_sampleTimer = 0, m_secondTimer = 0, m_quietTimer = 0, m_resultTimer = 0, m_signalToken = 0;
    bool m_saidTraining = false, m_logBehind = false, m_diskLow = false, m_over = false;
    std::uint64_t m_lostSaid = 0;
    int m_seconds = 0, m_resultTries = 0;
    std::int64_t m_endWallUs = 0;
    Ending m_ending;
};

/// Blocks the signals a session reads from a descriptor; call first in main, before any thread.
void blockSessionSignals();

} // namespace lockstep::agent
