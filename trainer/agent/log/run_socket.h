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
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/net/event_loop.h"

namespace lockstep::agent {

/// The run's one socket: ranks speak in, followers read along, each at its own pace. A follower is served from the
/// journal with a bounded buffer, so a slow one, or one that never reads, costs nobody else anything.
class RunSocket {
public:
    struct Handlers {
        std::function<void(int rank)> onRankConnected;
        std::function<void(int rank, std::string_view line)> onRankLine;
        std::function<void(int rank, const Error &why)> onRankCut; ///< closed by us: an endless line
        std::function<void(const Control &control)> onControl;
        std::function<void(std::string message)> onRefused; ///< somebody else's connection
    };

    static Result<std::unique_ptr<RunSocket>> bind(EventLoop &loop, RunJournal &journal, const std::string &path,
                                                   std::string runId, int node);
    /// At the path that this node's socket of the run has (ipc/socket_folder.h).
    static Result<std::unique_ptr<RunSocket>> bindForRun(EventLoop &loop, RunJournal &journal, const std::string &runId,
                                                         int node);
    ~RunSocket();

    /// Connections wait until here.
    void open(Handlers handlers, std::set<int> ranks);
    void setRanks(std::set<int> ranks) { m_ranks = std::move(ranks); } ///< others are refused
    /// Another node's log, which followers that ask for all nodes are sent, too. Outlives the socket.
    void addLog(int node, const LogWindow &log) { m_others[node] = &log; }
    [[nodiscard]] const std::string &path() const { return m_path; }

    void drainRanks(); ///< accepts and reads all that ranks have sent so far
    void pump();       ///< sends followers what is new; call after each batch of the loop
    /// Sends a control line to every connected rank; the ranks it reached.
    std::set<int> sendControl(const Control &control);
    [[nodiscard]] bool everConnected(int rank) const { return m_everConnected.contains(rank); }
    /// Processes of local followers that watch, and of those that keep the run's queue.
    [[nodiscard]] std::vector<pid_t> viewers() const { return followers(false); }
    [[nodiscard]] std::vector<pid_t> queueOwners() const { return followers(true); }

    /// A socket whose file was removed from under us (a log-out clears /run/user/UID) is bound again.
    void rebindIfLost();

    /// No new peers; followers get the rest; then `done`. One that takes nothing for five seconds is let go.
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
    EventLoop::Token m_listenToken = 0;
    Handlers m_handlers;
    std::set<int> m_ranks, m_everConnected;
    std::map<int, const LogWindow *> m_others;
    std::list<std::unique_ptr<Peer>> m_peers;
    std::function<void()> m_done;
    bool m_finishing = false;
    EventLoop::Token m_finishTimer = 0;
};

} // namespace lockstep::agent
