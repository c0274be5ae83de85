// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ipc/line_framer.h"
#include "ipc/messages.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/log/rank_processes.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/net/unauthenticated_peers.h"

namespace lockstep::agent {

/// The run's socket on this node: ranks send frames to it, followers receive the log, each at its own pace. A follower
/// is served from the journal through a bounded buffer, so one that is slow or never reads does not disturb the others.
/// All calls on the loop's thread.
class RunSocket {
public:
    struct Handlers {
        std::function<void(int rank, std::string_view line)> onRankLine;
        std::function<void(int rank, const Error &why)> onRankCut; ///< this side closed it: a line without end
        std::function<void(const Control &control)> onControl;
        /// The rank's process has ended and another one takes its place: a script that starts one after another. Its frames count
        /// from 0 again. Left out: they don't.
        std::function<void(int rank)> onOtherProcess = {};
        /// Two processes that live are this rank at once. Said once a rank.
        std::function<void(int rank, std::int64_t pid, std::int64_t other)> onTwoProcesses = {};
        /// A rank that nobody has announced says hello; false: it is refused. Left out: every one is.
        std::function<bool(int rank)> onUnknownRank = {};
        std::function<void(std::string message)> onRefused; ///< an unauthenticated connection
        std::function<void()> onBoundAgain = {};            ///< path() may be another one now
    };

    static Result<std::unique_ptr<RunSocket>> bind(EventLoop &loop, RunJournal &journal, const std::string &path,
                                                   std::string runId, int node);
    /// Binds at the run's socket path on this node (ipc/socket_folder.h).
    static Result<std::unique_ptr<RunSocket>> bindForRun(EventLoop &loop, RunJournal &journal, const std::string &runId,
                                                         int node);
    ~RunSocket();

    /// Accepts connections from now on; until then they wait.
    void open(Handlers handlers, std::set<int> ranks);
    void setRanks(std::set<int> ranks) { m_ranks = std::move(ranks); } ///< other ranks are refused
    void expectOtherProcesses(); ///< all ranks are started again: what those before have sent is read, and no more is
    /// Adds another node's log, for followers that ask for all nodes. `log` outlives the socket.
    void addLog(int node, const LogWindow &log) { m_others[node] = &log; }
    [[nodiscard]] const std::string &path() const { return m_path; }

    void drainRanks(); ///< accepts and reads everything that ranks have sent so far
    void pump();       ///< sends new lines to followers; call after each batch of the loop
    /// Sends a control line to every connected rank; returns the ranks that it reached.
    std::set<int> sendControl(const Control &control);
    [[nodiscard]] bool everConnected(int rank) const { return m_everConnected.contains(rank); }
    /// The process that reports as each rank, the newest that has said hello; it may have ended. 0: the kernel does not say.
    [[nodiscard]] const std::map<int, pid_t> &rankProcesses() const { return m_rankPids; }
    /// Processes of the local followers: those that watch, and those that own the run's queue.
    [[nodiscard]] std::vector<pid_t> viewers() const { return followers(false); }
    [[nodiscard]] std::vector<pid_t> queueOwners() const { return followers(true); }

    /// Binds the socket again if its file was removed meanwhile (a log-out clears /run/user/UID).
    void rebindIfLost();

    /// Accepts no new peers, sends followers the rest, then calls `done`. A follower that takes nothing for 5 s is
    /// dropped.
    void finish(std::function<void()> done);

private:
    struct Peer;
    using PeerIt = std::list<std::unique_ptr<Peer>>::iterator;

    RunSocket(EventLoop &loop, RunJournal &journal, UnixListener listener, std::string runId, int node);
    [[nodiscard]] std::vector<pid_t> followers(bool ownQueue) const;
    void watchListener();
    void acceptAll();
    void onPeerEvent(Peer &peer, std::uint32_t events);
    /// Reads once; false when nothing waits or the peer is gone.
    bool readPeer(Peer &peer);
    void takeLine(Peer &peer, std::string_view line);
    void takeHello(Peer &peer, std::string_view line);
    void noteProcess(Peer &peer, std::int64_t pid);
    void sayIfTwo(const Peer &peer, const Peer &other);
    void readRest(int rank, const Peer &butOf);
    void refuse(Peer &peer, const Error &why);
    void pumpPeer(Peer &peer);
    void readFor(Peer &peer);
    bool allRead(const Peer &peer) const;
    void closePeer(Peer &peer);
    void sweep();
    void checkFinished();

    EventLoop &m_loop;
    RunJournal &m_journal;
    std::string m_runId, m_path;
    int m_node;
    std::optional<UnixListener> m_listener;
    EventLoop::Token m_listenToken = 0, m_foundToken = 0;
    Handlers m_handlers;
    std::set<int> m_ranks, m_everConnected;
    std::map<int, pid_t> m_rankPids;
    std::set<int> m_doubled; ///< of these ranks two processes were seen at once
    RankProcesses m_processes;
    std::map<int, const LogWindow *> m_others;
    std::list<std::unique_ptr<Peer>> m_peers;
    std::function<void()> m_done;
    bool m_finishing = false;
    std::int64_t m_finishNs = 0;
    LimitedRefusals m_refusals;
    EventLoop::Token m_finishTimer = 0;
};

} // namespace lockstep::agent
