// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ipc/clock.h"
#include "trainer/agent/listen/frame_files.h"
#include "trainer/agent/listen/frame_listener.h"
#include "trainer/agent/listen/listened_run.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/net/signal_watch.h"

namespace lockstep::agent {

/// What `lockstep-agent listen` was told.
struct ListenPlan {
    std::string address; ///< interface or address; empty: loopback
    int port = 0;        ///< 0: any free one
    std::string socket;  ///< a unix socket instead
    std::string token;
    std::string files;                           ///< frame files instead of connections: a folder or a file
    bool import = false;                         ///< of files: take what is there, and end
    int ranks = 0;                               ///< 0: as the first rank says
    std::string name;                            ///< empty: made of what the ranks say of themselves
    std::chrono::milliseconds patience{600'000}; ///< without any rank, before a run counts as failed
};

/// Where the frames of a run that somebody else started (torchrun, Kubernetes, a shell) come from: connections of its ranks, or
/// files. The run (ListenedRun) begins with the first frame. It is over when every rank has reported its end, or nothing came
/// for too long. Everything is on the calling thread.
///   Waiting → (first frame) Running → Over
class ListenSession {
public:
    struct Told {
        std::function<void(const std::string &address)> onListening;
        std::function<void(const std::string &run)> onReady;     ///< the run's folder is there
        std::function<void(const std::string &sentence)> onNote; ///< for stderr: refused connections
    };
    static Result<std::unique_ptr<ListenSession>> start(ListenPlan plan, Told told);

    ListenEnding run();

private:
    ListenSession(ListenPlan plan, Told told);
    Result<void> openSources();
    Result<void> openFiles();
    Result<void> openListener();
    Result<void> openRun(const Frame &first);
    void startTimers();
    Result<std::uint64_t> greet(int rank, const Hello &hello);
    void takeLine(int rank, std::string_view line);
    void takeFileLine(std::string_view line);
    void deliver(int rank, std::string_view line);
    void readFiles();
    void everySecond();
    void checkPatience();
    void onSignal(int number);
    void quit(ListenEnding ending); ///< there never was a run

    ListenPlan m_plan;
    Told m_told;
    SystemClock m_clock;
    EventLoop m_loop;
    std::optional<SignalWatch> m_signals;
    EventLoop::Token m_second = 0, m_filesTimer = 0;
    std::unique_ptr<FrameListener> m_listener; ///< or m_files
    std::optional<FrameFiles> m_files;
    Decoder m_decoder; ///< of the first frame, and of file lines, which name their ranks themselves
    std::map<int, std::string> m_processes; ///< host and pid of each rank that has connected: another one counts from 0
    std::set<int> m_begun;                  ///< ranks whose lines of files have been read
    std::unique_ptr<ListenedRun> m_run;     ///< from the first frame on
    std::int64_t m_aloneSinceNs = 0;
    std::uint64_t m_strays = 0;
    ListenEnding m_ending; ///< without a run
};

} // namespace lockstep::agent
