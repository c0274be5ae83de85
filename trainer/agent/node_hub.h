#pragma once
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/clock.h"
#include "ipc/frames.h"
#include "ipc/messages.h"
#include "ipc/node_messages.h"
#include "ipc/run_folder.h"
#include "trainer/agent/clock_offset.h"
#include "trainer/agent/event_loop.h"
#include "trainer/agent/line_socket.h"
#include "trainer/agent/master_port.h"
#include "trainer/agent/node_log.h"
#include "trainer/agent/trace_transfer.h"

namespace lockstep::agent {

/// Agent 0's side of the links (ipc/node_messages.h): takes the other nodes' agents in, keeps copies of their logs, tells
/// them what to do, and says how each link stands. All calls on the loop's thread.
///   waiting (for every node) → going → each node over and its log whole, or given up
class NodeHub {
public:
    static constexpr std::chrono::seconds silence{6}; ///< of a link that counts as lost

    struct Handlers {
        std::function<void()> onAllJoined;                                 ///< once
        std::function<void(int node, const NodeMessage &failed)> onFailed; ///< a rank there failed, or could not start
        std::function<void(const LinkFrame &link)> onLink;
        std::function<void(const RankExit &exit)> onExit;
        std::function<void(int node, TraceInbox::Whole trace)> onTrace;
        std::function<void()> onGone; ///< the ranks of a node are gone, which may be started again
        std::function<void(const Control &control)> onControl; ///< somebody on that machine asks
        std::function<void(std::string message)> onRefused;    ///< of a stranger
    };
    struct Options {
        std::string address;  ///< to listen at
        int port = 0;         ///< 0: any
        std::string announce; ///< what the others are told; empty: the address
        std::string token;
        std::vector<std::string> titles; ///< of the nodes from 1 on, for sentences until they say their names
        std::vector<int> processes;      ///< of all nodes as configured; empty: each says its own
        int ownProcesses = 1;
    };
    static Result<std::unique_ptr<NodeHub>> open(EventLoop &loop, const Clock &clock, const RunFolder &folder,
                                                 std::string runId, Options options);
    ~NodeHub();
    void start(Handlers handlers);

    [[nodiscard]] const std::string &join() const { return m_join; } ///< "HOST:PORT" to connect to
    [[nodiscard]] const std::string &token() const { return m_options.token; }
    [[nodiscard]] int count() const { return static_cast<int>(m_nodes.size()); } ///< other nodes
    [[nodiscard]] std::string absent() const; ///< "node 1 (hostB), node 2 (hostC)" that have not joined; empty: none

    // After onAllJoined:
    [[nodiscard]] std::vector<int> processes() const; ///< of all nodes, this one first
    [[nodiscard]] std::vector<MachineRecord> machines() const;
    [[nodiscard]] std::vector<std::string> devices() const;

    /// Has all start their ranks, for the first time or again: `number` from 0, `restarts` are left after it.
    void go(const std::string &masterAddress, int masterPort, int number, int restarts);
    void settle(); ///< nothing is started again: each says how it has ended
    /// Whether the ranks of all nodes are gone since the last go(), their logs whole to that point, and none is over.
    [[nodiscard]] bool allGone() const;
    void abort(const std::string &reason); ///< once; what comes back later is told, too
    void stop(const std::string &by);
    void trace(const Control &control);
    void end(RunState state, const std::string &reason, int exitCode);

    [[nodiscard]] bool allEnded() const;
    /// Whether all that have not ended, nor are gone before settle(), have been lost for longer than `closed` (the connection was closed) or `silent`.
    [[nodiscard]] bool onlyLostFor(std::chrono::milliseconds closed, std::chrono::milliseconds silent) const;
    /// How far a node's monotonic clock is ahead of ours, and the round trip by which that is known.
    [[nodiscard]] std::optional<ClockOffset::Estimate> monoClock(int node) const;
    [[nodiscard]] std::string title(int node) const { return titleOf(*m_nodes[static_cast<std::size_t>(node - 1)]); }
    [[nodiscard]] const std::string &peer(int node) const; ///< "10.0.0.2:51234" of its last connection
    [[nodiscard]] bool isLost(int node) const;
    /// Whether nothing comes from a node for now, or any more.
    [[nodiscard]] bool isAway(int node) const;
    [[nodiscard]] std::string lostNodes() const; ///< "hostB, hostC"; empty: none
    /// A node whose connection was closed from there within `aroundNs` of a moment, and which did not come back.
    [[nodiscard]] std::string closedAround(std::int64_t monoNs, std::int64_t aroundNs) const;
    [[nodiscard]] bool connected() const; ///< to any node
    [[nodiscard]] const LogWindow *window(int node) const;
    [[nodiscard]] std::map<int, std::uint64_t> logLines() const;
    /// What the nodes said of their ends, worst first: failed before stopped before done.
    [[nodiscard]] std::optional<NodeMessage> worstEnd() const;

private:
    struct Node;
    struct Stranger;
    NodeHub(EventLoop &loop, const Clock &clock, const RunFolder &folder, std::string runId, Options options,
            MasterPort port);
    void accept();
    void takeHello(Stranger &stranger, std::string_view line);
    void refuse(Stranger &stranger, const Error &why);
    void adopt(Node &node, std::shared_ptr<LineSocket> socket, const Hello &hello);
    void takeLine(Node &node, std::string_view line);
    void takeLogLine(Node &node, std::string_view line);
    void takeMessage(Node &node, const NodeMessage &message);
    void takeJoin(Node &node, const NodeMessage &message);
    void takeTrace(Node &node, const NodeMessage &piece);
    void takePong(Node &node, const NodeMessage &message);
    void lose(Node &node, const std::string &why, bool closed);
    void checkEnded(Node &node);
    [[nodiscard]] bool isPast(const NodeMessage &message) const;
    [[nodiscard]] static bool isGone(const Node &node);
    void tell(Node &node, const std::string &link, const std::string &reason = {});
    void ping(Node &node);
    void sendGo(Node &node);
    void send(Node &node, const NodeMessage &message);
    void sendAll(const NodeMessage &message);
    void everySecond();
    void sweep();
    [[nodiscard]] std::string titleOf(const Node &node) const;

    EventLoop &m_loop;
    const Clock &m_clock;
    RunFolder m_folder;
    std::string m_runId, m_join;
    Options m_options;
    MasterPort m_port;
    Handlers m_handlers;
    DiskSync m_sync;
    Decoder m_decoder;
    EventLoop::Token m_listenToken = 0, m_secondTimer = 0, m_silenceTimer = 0;
    std::vector<std::unique_ptr<Node>> m_nodes; ///< node K at K - 1
    std::list<std::unique_ptr<Stranger>> m_strangers;
    bool m_allJoined = false;
    std::optional<NodeMessage> m_go, m_abort, m_settle, m_stop, m_end;
};

/// 128 random bits in hexadecimal digits.
[[nodiscard]] std::string makeToken();

} // namespace lockstep::agent
