#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ipc/clock.h"
#include "ipc/file_system.h"
#include "trainer/agent/event_loop.h"
#include "trainer/agent/frame_files.h"
#include "trainer/agent/frame_intake.h"
#include "trainer/agent/frame_listener.h"
#include "trainer/agent/new_run_folder.h"
#include "trainer/agent/run_journal.h"
#include "trainer/agent/run_socket.h"

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

/// A run whose ranks somebody else started (torchrun, Kubernetes, a shell): their frames come over connections or in files,
/// and are kept, served and ended as those of any run. The run begins with the first frame; ranks come late, leave and come
/// again; it is over when every rank has told its end. Everything on the calling thread.
///
///   Waiting → (first frame) Running → Over
class ListenSession {
public:
    struct Told {
        std::function<void(const std::string &address)> onListening;
        std::function<void(const std::string &run)> onReady;     ///< the run's folder is there
        std::function<void(const std::string &sentence)> onNote; ///< for stderr: refused connections
    };
    static Result<std::unique_ptr<ListenSession>> start(ListenPlan plan, Told told);
    ~ListenSession();

    struct Ending {
        int exitCode = 1;
        std::string reason;
    };
    Ending run();

private:
    struct Rank {
        std::string process; ///< host and pid: another one counts from 0 again
        std::string host;
        std::optional<RunState> final;
        bool began = false;
    };
    ListenSession(ListenPlan plan, Told told);
    Result<void> openSources();
    Result<void> openRun(const Frame &first);
    void describe(const StateFrame &init, int rank);
    Result<std::uint64_t> greet(int rank, const Hello &hello);
    void takeLine(int rank, std::string_view line);
    void takeFileLine(std::string_view line);
    void onState(int rank, const StateFrame &state);
    void onGone(int rank);
    void lookAtFiles();
    void everySecond();
    void watchSignals();
    void checkOver();
    void end(RunState state, const std::string &reason);
    Result<void> writeResult();
    void alert(const std::string &kind, const std::string &message, std::optional<int> rank = {});

    ListenPlan m_plan;
    Told m_told;
    SystemClock m_clock;
    EventLoop m_loop;
    Fd m_signals;
    EventLoop::Token m_signalToken = 0, m_second = 0, m_filesTimer = 0;
    std::unique_ptr<FrameListener> m_listener;
    std::optional<FrameFiles> m_files;
    Decoder m_decoder; ///< of file lines, whose rank is not known before

    // Of the run, from the first frame on:
    RunRecord m_record;
    RunFolder m_path;
    std::optional<NewRunFolder> m_folder;
    std::unique_ptr<RunJournal> m_journal;
    std::unique_ptr<RunSocket> m_socket;
    std::unique_ptr<FrameIntake> m_intake;
    std::map<int, Rank> m_ranks;
    int m_worldSize = 0; ///< 0: unknown
    std::int64_t m_startNs = 0, m_aloneSinceNs = 0, m_firstWallUs = 0, m_lastWallUs = 0, m_lastLineNs = 0;
    std::uint64_t m_strays = 0;
    std::optional<RunState> m_outcome;
    Ending m_ending;
};

} // namespace lockstep::agent
