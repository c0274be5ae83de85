// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/clock.h"
#include "ipc/frames.h"
#include "ipc/messages.h"
#include "ipc/node_messages.h"
#include "ipc/run_folder.h"
#include "trainer/agent/log/disk_watch.h"
#include "trainer/agent/log/epoch_numbers.h"
#include "trainer/agent/log/log_disk.h"
#include "trainer/agent/log/log_file_reader.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/nodes/node_listener.h"
#include "trainer/agent/nodes/remote_node.h"

namespace lockstep::agent {

/// Agent 0's view of all other nodes of a run (ipc/node_messages.h). It lets their agents join, sends them orders,
/// repeats to a node that reconnects what it may have missed, and answers questions about all nodes. All calls on the
/// loop's thread.
///   waiting for every node → going → each node's ranks have ended and its log is complete, or the node is given up
class NodeHub {
public:
    static constexpr std::chrono::seconds silence{6}; ///< a link without traffic for so long counts as lost

    struct Handlers {
        std::function<void()> onAllJoined;                       ///< once, when no node is absent
        std::function<void(const NodeMessage &failed)> onFailed; ///< a rank there failed or could not start
        std::function<void(const LinkFrame &link)> onLink;
        std::function<void(const RankExit &exit)> onExit;
        std::function<void(int rank, const Frame &frame)> onRankFrame; ///< steps, states and heartbeats
        std::function<void(int node, TraceInbox::Whole trace)> onTrace;
        std::function<void()> onGone;                          ///< a node's ranks are gone and may be restarted
        std::function<void(const Control &control)> onControl; ///< a request that was made on that node
        std::function<void(std::string message)> onRefused;    ///< an unauthenticated connection
        std::function<void(std::string message)> onOverstep; ///< a node does what it may not; once for each such thing
    };
    /// `titles` name the nodes from 1 on in messages until they report their host names.
    static Result<std::unique_ptr<NodeHub>> open(EventLoop &loop, const Clock &clock, const RunFolder &folder,
                                                 NodeListener::Options options, const std::vector<std::string> &titles,
                                                 int ownProcesses);
    ~NodeHub();
    void start(Handlers handlers);

    [[nodiscard]] const std::string &join() const { return m_listener->address(); } ///< "HOST:PORT" to connect to
    [[nodiscard]] const std::string &token() const { return m_listener->token(); }
    [[nodiscard]] int count() const { return static_cast<int>(m_nodes.size()); } ///< other nodes
    [[nodiscard]] const RemoteNode &node(int number) const { return *m_nodes[static_cast<std::size_t>(number - 1)]; }
    /// Have not joined, or were lost since: "node 1 (hostB), node 2 (hostC)"; empty: none.
    [[nodiscard]] std::string absent() const;

    // After onAllJoined:
    [[nodiscard]] std::vector<int> processes() const; ///< of all nodes, this one first
    [[nodiscard]] std::vector<MachineRecord> machines() const;
    [[nodiscard]] std::vector<std::string> devices() const;

    /// Orders all nodes to start their ranks, for the first time or again. `number` counts the starts from 0; `restarts`
    /// are left after this one.
    void go(const std::string &masterAddress, int masterPort, int number, int restarts, const EpochNumbers::Made &made);
    void settle();                         ///< no further restart: each node reports how its ranks ended
    void abort(const std::string &reason); ///< once per start; sent also to nodes that reconnect later
    void stop(const std::string &by);
    void askRanks(const Control &control); ///< trace or stacks, on all other nodes
    void end(RunState state, const std::string &reason, int exitCode);

    /// Whether the ranks of all nodes are gone since the last go(), with complete logs up to then, and no node is over.
    [[nodiscard]] bool allGone() const;
    /// What the ranks of all nodes have made, if those here have made so much: never more.
    [[nodiscard]] EpochNumbers::Made leastMade(EpochNumbers::Made here) const;
    [[nodiscard]] bool allEnded() const;
    /// Whether the link to every node that has not ended has been lost for longer than `closed` (the peer closed it) or
    /// `silent` (nothing came). Nodes whose ranks are gone are not counted before settle().
    [[nodiscard]] bool onlyLostFor(std::chrono::milliseconds closed, std::chrono::milliseconds silent) const;
    [[nodiscard]] std::string lostNodes() const;    ///< "hostB, hostC"; empty: none
    [[nodiscard]] std::string unendedNodes() const; ///< whose ranks may still run, or that are lost; likewise
    /// Name of a node that closed its connection within `aroundNs` of `monoNs` and did not come back; empty: none.
    [[nodiscard]] std::string closedAround(std::int64_t monoNs, std::int64_t aroundNs) const;
    [[nodiscard]] bool connected() const; ///< to any node
    [[nodiscard]] std::map<int, std::uint64_t> logLines() const;
    [[nodiscard]] std::vector<WatchedLog> logs() const; ///< the copies that are written here
    /// The worst of the ends that the nodes have reported: failed before stopped before done.
    [[nodiscard]] std::optional<NodeMessage> worstEnd() const;

private:
    NodeHub(EventLoop &loop, const Clock &clock, const RunFolder &folder, std::unique_ptr<NodeListener> listener,
            const std::vector<std::string> &titles, int ownProcesses);
    void openNode(RemoteNode &node);
    [[nodiscard]] std::string titlesOf(bool (*belongs)(const RemoteNode &node)) const;
    void onJoined(RemoteNode &node);
    void sendGo(RemoteNode &node);
    void sendAll(const NodeMessage &message);

    EventLoop &m_loop;
    LogDisk m_disk;
    LogFileReader m_reader;
    std::unique_ptr<NodeListener> m_listener;
    int m_ownProcesses;
    Handlers m_handlers;
    EventLoop::Token m_secondTimer = 0, m_silenceTimer = 0, m_foundToken = 0;
    std::vector<std::unique_ptr<RemoteNode>> m_nodes; ///< node K at K - 1
    bool m_allJoined = false;
    std::optional<NodeMessage> m_go, m_abort, m_settle, m_stop, m_end; ///< repeated to a node that reconnects
};

} // namespace lockstep::agent
