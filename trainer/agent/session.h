#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ipc/clock.h"
#include "trainer/agent/event_loop.h"
#include "trainer/agent/frame_intake.h"
#include "trainer/agent/launch_plan.h"
#include "trainer/agent/new_run_folder.h"
#include "trainer/agent/node_facts.h"
#include "trainer/agent/node_hub.h"
#include "trainer/agent/node_link.h"
#include "trainer/agent/run_journal.h"
#include "trainer/agent/run_socket.h"
#include "trainer/agent/sampler.h"
#include "trainer/agent/supervisor.h"
#include "trainer/agent/surroundings_meter.h"
#include "trainer/agent/trace_merge.h"
#include "trainer/agent/watching_meter.h"

namespace lockstep::agent {

/// One run on this node from its folder to result.json: journal, socket, ranks, samples, heartbeat. Of a run on several
/// nodes this node's part: node 0 waits for the others, starts when all are there and writes the run's result; another one
/// joins it and does as it is told (session_nodes.cpp). Everything runs on the calling thread, which must be the process's main one.
class Session {
public:
    struct Ending {
        int resultCode = 1;  ///< 0, 1, 2, 130
        int commandCode = 1; ///< of `run`: the failing rank's own
        std::string reason;
    };
    using OnConsoleLine = std::function<void(int rank, ConsoleTap::Stream, std::string_view line)>;

    /// Makes the folder, opens the journal, binds the socket, spawns the ranks; node 0 of several only listens, the others
    /// return when they have joined. An error leaves nothing behind.
    static Result<std::unique_ptr<Session>> start(LaunchPlan plan, GroupKeeper keeper, std::unique_ptr<Nvml> nvml,
                                                  OnConsoleLine onConsoleLine);
    ~Session();

    [[nodiscard]] const std::string &runId() const { return m_plan.record.run; }
    [[nodiscard]] const RunFolder &folder() const { return m_folder.folder(); }
    [[nodiscard]] const std::string &socketPath() const { return m_socket->path(); }
    [[nodiscard]] EventLoop &loop() { return m_loop; }
    /// Node 0 of several: where the others find it, and what they show.
    [[nodiscard]] std::string join() const { return m_hub ? m_hub->join() : std::string(); }
    [[nodiscard]] std::string token() const { return m_hub ? m_hub->token() : std::string(); }
    [[nodiscard]] int node() const { return m_plan.nodes.node; }

    Ending run(); ///< until the run is over and its followers have all

    void stop(const std::string &by);
    void discard() { m_folder.discard(); } ///< after run(): nothing of the run stays on this node

private:
    Session(LaunchPlan plan, GroupKeeper keeper, NewRunFolder folder);
    Result<void> open(std::unique_ptr<Nvml> nvml, OnConsoleLine onConsoleLine);
    void openSocketHandlers();
    Result<void> begin(); ///< the ranks, at last
    void makeSupervisor();
    void startTimers();
    void takeControl(const Control &control);
    void askForTrace(const Control &control);
    void mergeTraces();
    void sendTraces();
    [[nodiscard]] std::vector<RankTrace> tracesOfAll() const;
    void takeTrace(int node, TraceInbox::Whole trace);
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
    void endTimers();
    void settle(); ///< the run's outcome is known: say and write it
    void conclude();
    void leave();

    // Several nodes, in session_nodes.cpp and session_failures.cpp:
    Result<void> openHub();
    Result<void> joinRun();
    void openLink();
    void startHub();
    void writeJoinFile();
    void startAll();
    void tellGo();
    void takeFailure(int node, const NodeMessage &failed);
    void tellFailure(int rank, const ProcessExit &exit, const std::string &reason);
    void takeLink(const LinkFrame &link);
    void lookAtLostNodes();
    bool tellSight(int node);
    void takeOrder(const NodeMessage &message);
    void takeGo(const NodeMessage &message);
    void onLinkLost(const std::string &why);
    void watchLease();
    void waitForNodes();
    void lookAtNodes();
    void onGone();
    void lookAtRestart();
    void restart(const std::string &reason);
    [[nodiscard]] bool isCause(const NodeMessage &failed) const;
    void adoptNodesOutcome();
    void tellOver();
    void lookAtLink();
    void concludeWith(RunState state, int code, const std::string &reason);
    void concludeUnbegun(RunState state, int code, const std::string &reason);
    Result<void> writeResult();

    SystemClock m_clock;
    LaunchPlan m_plan;
    std::optional<TrainerQuestion> m_torch; ///< of node 0 of several
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
    std::unique_ptr<Supervisor> m_supervisor; ///< from begin() on
    std::unique_ptr<NodeHub> m_hub;           ///< node 0 of several
    std::unique_ptr<NodeLink> m_link;         ///< another node
    OnConsoleLine m_onConsoleLine;
    Fd m_signals;
    EventLoop::Token m_sampleTimer = 0, m_secondTimer = 0, m_quietTimer = 0, m_resultTimer = 0, m_signalToken = 0,
                     m_joinTimer = 0, m_nodesTimer = 0, m_sightTimer = 0;
    bool m_saidTraining = false, m_logBehind = false, m_diskLow = false, m_over = false, m_settled = false;
    std::uint64_t m_lostSaid = 0;
    int m_seconds = 0, m_resultTries = 0, m_leaveLooks = 0, m_refusals = 0;
    std::int64_t m_endWallUs = 0, m_stopNumber = 0;
    bool m_stopAsked = false;
    std::optional<Error> m_joinError;
    std::optional<NodeMessage> m_nodeFailure; ///< that another node told and that is the cause, as far as is known
    std::int64_t m_nodeFailureNs = 0;
    std::set<int> m_unseen; ///< nodes whose link is lost, while it is not told what their ranks' peers see
    TraceMerge m_traceMerge;
    std::map<int, std::filesystem::file_time_type> m_tracesSent; ///< of another node, by rank
    int m_start = 0; ///< how often the ranks of all nodes were started again
    RunState m_outcome = RunState::Failed;
    double m_runTimeS = 0;
    std::vector<RankExit> m_exits;
    Ending m_ending;
};

/// Blocks the signals a session reads from a descriptor; call first in main, before any thread.
void blockSessionSignals();

} // namespace lockstep::agent
