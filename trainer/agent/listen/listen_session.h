// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/clock.h"
#include "trainer/agent/listen/frame_files.h"
#include "trainer/agent/listen/frame_listener.h"
#include "trainer/agent/listen/listened_run.h"
#include "trainer/agent/log/rank_processes.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/net/signal_watch.h"
#include "trainer/agent/net/unauthenticated_peers.h"

namespace lockstep::agent {

/// The options of `lockstep-agent listen`.
struct ListenPlan {
    std::string address; ///< interface or address; empty: loopback
    int port = 0;        ///< 0: any free one
    std::string socket;  ///< listen on this unix socket instead
    std::string token;
    std::string files;                           ///< frame files instead of connections: a folder or a file
    bool import = false;                         ///< with files: read what is there, then end
    int ranks = 0;                               ///< 0: the number that a rank reported last
    std::string name;                            ///< empty: made from what the ranks report
    std::chrono::milliseconds patience{600'000}; ///< how long a run may be without any rank before it counts as failed
};

/// Receives the frames of a run that somebody else started (torchrun, Kubernetes, a shell), from connections of its
/// ranks or from files. The run (ListenedRun) begins with the first frame. It is over when every rank has reported its
/// end, or when no frame has come for `patience`. Files that are a run already make no second one: that run is shown.
/// All calls on the calling thread.
///   Waiting → (first frame) Running → Over
class ListenSession {
public:
    struct Handlers {
        std::function<void(const std::string &address)> onListening;
        std::function<void(const std::string &run)> onReady;     ///< the run's folder exists
        std::function<void(const std::string &sentence)> onNote; ///< for stderr, e.g. refused connections
    };
    static Result<std::unique_ptr<ListenSession>> start(ListenPlan plan, Handlers handlers);

    ListenEnding run();

private:
    ListenSession(ListenPlan plan, Handlers handlers);
    Result<void> openSources();
    Result<void> openFiles();
    Result<void> openListener();
    Result<void> openRun(const Frame &first);
    void startTimers();
    Result<std::uint64_t> greet(int rank, const Hello &hello);
    void takeLine(int rank, std::string_view line);
    void takeOver(int rank);
    void takeFileLine(std::string_view line);
    /// Whether a frame from files begins those of another process, which appends to its rank's file. Give each frame,
    /// in order.
    bool beginsAnother(const Frame &frame);
    bool openFilesRun(const Frame &first); ///< false: there is no run to record
    void deliver(int rank, std::string_view line);
    void readFiles();
    void everySecond();
    void checkPatience();
    void onSignal(int number);
    void quit(ListenEnding ending); ///< ends before a run began

    ListenPlan m_plan;
    Handlers m_handlers;
    SystemClock m_clock;
    EventLoop m_loop;
    std::optional<SignalWatch> m_signals;
    EventLoop::Token m_second = 0, m_filesTimer = 0, m_filesAgain = 0;
    std::unique_ptr<FrameListener> m_listener; ///< set, or m_files is
    std::optional<FrameFiles> m_files;
    bool m_saidWaiting = false; ///< for the first frame in files
    Decoder m_decoder;          ///< decodes the first frame, and lines of files, which name their rank themselves
    RankProcesses m_processes;  ///< by host and pid, once connected
    /// Of each rank, the newest frame that was read from files.
    struct Newest {
        std::uint64_t rseq = 0;
        std::int64_t monoNs = 0, wallUs = 0;
    };
    std::map<int, Newest> m_newest;
    std::unique_ptr<ListenedRun> m_run; ///< from the first frame on
    std::int64_t m_aloneSinceNs = 0;
    std::uint64_t m_strays = 0;
    std::optional<ListenEnding> m_ending;       ///< if no run began
    LimitedRefusals m_refusals, m_foreignLines; ///< the second: before the first frame
};

} // namespace lockstep::agent
