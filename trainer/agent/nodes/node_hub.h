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
#include "trainer/agent/log/disk_sync.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/nodes/node_door.h"
#include "trainer/agent/nodes/remote_node.h"

namespace lockstep::agent {

/// All other nodes of a run, for agent 0 (ipc/node_messages.h): lets their agents in, gives them orders, repeats to those that
/// come back what they may have missed, and answers questions about all of them. All calls on the loop's thread.
///   waiting (for every node) → going → each node over and its log whole, or given up
class NodeHub {
public:
    static constexpr std::chrono::seconds silence{6}; ///< of a link that counts as lost

    struct Handlers {
        std::function<void()> onAllJoined;                       ///< once
        std::function<void(const NodeMessage &failed)> onFailed; ///< a rank there failed, or could not start
        std::function<void(const LinkFrame &link)> onLink;
        std::function<void(const RankExit &exit)> onExit;
        std::function<void(int node, TraceInbox::Whole trace)> onTrace;
        std::function<void()> onGone; ///< the ranks of a node are gone, which may be started again
        std::function<void(const Control &control)> onControl; ///< somebody on that machine asks
        std::function<void(std::string message)> onRefused;    ///< of a stranger
    };
    /// `titles`: of the nodes from 1 on, for sentences until they say their hosts' names.
    static Result<std::unique_ptr<NodeHub>> open(EventLoop &loop, const Clock &clock, const RunFolder &folder,
                                                 NodeDoor::Options options, const std::vector<std::string> &titles,
                                                 int ownProcesses);
    ~NodeHub();
    void start(Handlers handlers);

    [[nodiscard]] const std::string &join() const { return m_door->address(); } ///< "HOST:PORT" to connect to
    [[nodiscard]] const std::string &token() const { return m_door->token(); }
    [[nodiscard]] int count() const { return static_cast<int>(m_nodes.size()); } ///< other nodes
    [[nodiscard]] const RemoteNode &node(int number) const { return *m_nodes[static_cast<std::size_t>(number - 1)]; }
    [[nodiscard]] std::string absent() const; ///< "node 1 (hostB), node 2 (hostC)" that have not joined; empty: none

    // After onAllJoined:
    [[nodiscard]] std::vector<int> processes() const; ///< of all nodes, this one first
    [[nodiscard]] std::vector<MachineRecord> machines() const;
    [[nodiscard]] std::vector<std::string> devices() const;

    /// Has all start their ranks, for the first time or again: `number` from 0, `restarts` are left after it.
    void go(const std::string &masterAddress, int masterPort, int number, int restarts);
    void settle();                         ///< nothing is started again: each says how it has ended
    void abort(const std::string &reason); ///< once a start; also to those that come back later
    void stop(const std::string &by);
    void trace(const Control &control);
    void end(RunState state, const std::string &reason, int exitCode);

    /// Whether the ranks of all nodes are gone since the last go(), their logs whole to that point, and none is over.
    [[nodiscard]] bool allGone() const;
    [[nodiscard]] bool allEnded() const;
    /// Whether all that have not ended, nor are gone before settle(), have been lost for longer than `closed` (the connection was closed) or `silent`.
    [[nodiscard]] bool onlyLostFor(std::chrono::milliseconds closed, std::chrono::milliseconds silent) const;
    [[nodiscard]] std::string lostNodes() const; ///< "hostB, hostC"; empty: none
    /// A node whose connection was closed from there within `aroundNs` of a moment, and which did not come back.
    [[nodiscard]] std::string closedAround(std::int64_t monoNs, std::int64_t aroundNs) const;
    [[nodiscard]] bool connected() const; ///< to any node
    [[nodiscard]] std::map<int, std::uint64_t> logLines() const;
    /// What the nodes said of their ends, worst first: failed before stopped before done.
    [[nodiscard]] std::optional<NodeMessage> worstEnd() const;

private:
    NodeHub(EventLoop &loop, const Clock &clock, const RunFolder &folder, std::unique_ptr<NodeDoor> door,
            const std::vector<std::string> &titles, int ownProcesses);
    void openNode(RemoteNode &node);
    void onJoined(RemoteNode &node, bool first);
    void sendGo(RemoteNode &node);
    void sendAll(const NodeMessage &message);

    EventLoop &m_loop;
    DiskSync m_sync;
    std::unique_ptr<NodeDoor> m_door;
    int m_ownProcesses;
    Handlers m_handlers;
    EventLoop::Token m_secondTimer = 0, m_silenceTimer = 0;
    std::vector<std::unique_ptr<RemoteNode>> m_nodes; ///< node K at K - 1
    bool m_allJoined = false;
    std::optional<NodeMessage> m_go, m_abort, m_settle, m_stop, m_end; ///< repeated to a node that comes back
};

} // namespace lockstep::agent
