// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ipc/clock.h"
#include "ipc/frames.h"
#include "ipc/messages.h"
#include "ipc/node_messages.h"
#include "ipc/run_folder.h"
#include "trainer/agent/log/log_disk.h"
#include "trainer/agent/log/log_file_reader.h"
#include "trainer/agent/log/node_log.h"
#include "trainer/agent/net/clock_offset.h"
#include "trainer/agent/net/line_socket.h"
#include "trainer/agent/net/peer_tcp_state.h"
#include "trainer/agent/nodes/trace_transfer.h"

namespace lockstep::agent {

/// Another node, as node 0 sees it: its link, the copy of its log, the offsets of its clocks and what it reports about
/// its ranks.
///   Absent → (join) Up ⇄ Lost; Ended: its ranks are over and its log is complete
/// All calls on the loop's thread.
class RemoteNode {
public:
    struct Handlers {
        std::function<void()> onJoined; ///< the first join, or a reconnection after a cut
        std::function<void(const NodeMessage &failed)> onFailed;
        std::function<void()> onGone; ///< its ranks are gone, or a further line of its log has come since
        std::function<void(const LinkFrame &link)> onLink;
        std::function<void(const RankExit &exit)> onExit;
        std::function<void(int rank, const Frame &frame)> onRankFrame; ///< steps, states and heartbeats
        std::function<void(TraceInbox::Whole trace)> onTrace;          ///< one that was asked for
        std::function<void(const Control &control)> onControl;
        std::function<void(std::string message)> onOverstep; ///< once for each thing that it may not do; it is refused
    };
    /// `clock` and `disk` outlive it. `title` names the node in messages until it reports its host name.
    RemoteNode(const Clock &clock, LogDisk &disk, LogFileReader &reader, RunFolder folder, int number,
               std::string title);
    void setHandlers(Handlers handlers) { m_handlers = std::move(handlers); }

    /// Takes a connection of the node's agent, which replaces an older one. Before the first go another agent may come in
    /// the place of one that is lost. An error says why this one can't be the node; the agent is told, and nothing changes.
    Result<void> connect(std::shared_ptr<LineSocket> socket, const Hello &hello);
    /// Dropped if there is no connection. After a `trace` each rank's is awaited.
    void send(const NodeMessage &message);
    /// Orders the node to start `ranks` ranks from `go.firstRank` on, or repeats that after a cut.
    void sendGo(const NodeMessage &go, int ranks);
    void everySecond();
    void checkSilence(std::chrono::seconds limit); ///< a link without traffic for longer than `limit` is lost

    [[nodiscard]] int number() const { return m_number; }
    [[nodiscard]] const std::string &title() const { return m_title; }
    [[nodiscard]] const std::string &peer() const { return m_peer; } ///< "10.0.0.2:51234" of its last connection
    [[nodiscard]] const std::optional<NodeMessage> &join() const { return m_join; } ///< the agent's first
    [[nodiscard]] const std::optional<NodeMessage> &over() const { return m_over; }
    [[nodiscard]] bool connected() const { return m_socket != nullptr; }
    [[nodiscard]] bool isLost() const { return m_link == Link::Lost; }
    [[nodiscard]] bool hasEnded() const { return m_link == Link::Ended; }
    [[nodiscard]] const std::optional<NodeMessage> &gone() const { return m_gone; } ///< since the last start
    [[nodiscard]] bool ranksGone() const; ///< since the last start, and its log is complete up to then
    /// Lost for longer than `closed` (the node closed the connection) or `silent` (nothing came).
    [[nodiscard]] bool isLostFor(std::chrono::milliseconds closed, std::chrono::milliseconds silent) const;
    /// The kernel's state of the link's connection when it was lost. Agent 0 sends a message every second, so it shows
    /// whether the node's kernel still answered.
    [[nodiscard]] const PeerTcpState &linkWhenLost() const { return m_linkWhenLost; }
    /// Lost, and the node closed the connection within `aroundNs` of `monoNs`.
    [[nodiscard]] bool closedAround(std::int64_t monoNs, std::int64_t aroundNs) const;
    /// How far its monotonic clock is ahead of ours; the error is at most half the round trip.
    [[nodiscard]] std::optional<ClockOffset::Estimate> monoClock() const { return m_monoClock.estimate(); }
    /// When the last of its ranks ended, by our monotonic clock; absent: none is known to have ended.
    [[nodiscard]] std::optional<std::int64_t> lastExitNs() const;
    [[nodiscard]] const NodeLog *log() const { return m_log.get(); } ///< null until it has joined
    [[nodiscard]] const LogWindow *window() const { return m_log ? &m_log->window() : nullptr; } ///< once joined
    [[nodiscard]] std::uint64_t logLines() const { return m_log ? m_log->nextSeq() : 0; }

private:
    enum class Link { Absent, Up, Lost, Ended };
    [[nodiscard]] Result<void> checkAgent(const Hello &hello) const;
    void beginAnew();
    void greet(const Hello &hello, const std::string &refused, LineSocket &socket) const;
    void onLine(std::string_view line);
    void onLogLine(std::string_view line);
    void onExit(const Frame &frame, const ExitFrame &exit);
    void onMessage(const NodeMessage &message);
    void onJoin(const NodeMessage &message);
    void refuseJoin(const Error &why);
    void onFailed(const NodeMessage &message);
    [[nodiscard]] std::string asReported(const std::string &reason) const;
    void onTracePart(const NodeMessage &piece);
    void refuseTrace(const NodeMessage &piece);
    void sendTraceKept(int rank, const std::string &crc);
    void expectTraces();
    [[nodiscard]] bool isOwn(int rank) const { return m_ranks.contains(rank); }
    [[nodiscard]] std::string ownRanks() const;
    [[nodiscard]] std::optional<int> otherRankIn(const Frame &frame) const;
    [[nodiscard]] bool isForeign(const Frame &frame) const;
    void reportOtherRank(int rank);
    void reportForeign(const Frame &frame);
    void overstep(bool &reported, const std::string &does);
    void onPong(const NodeMessage &message);
    void ping();
    void lose(const std::string &why, bool closed);
    void checkEnded();
    void reportLink(const std::string &link, const std::string &reason = {});
    [[nodiscard]] bool isPast(const NodeMessage &message) const;
    void onRequest(const Control &control);
    [[nodiscard]] bool mayAsk();

    const Clock &m_clock;
    LogDisk &m_disk;
    LogFileReader &m_reader;
    RunFolder m_folder;
    int m_number;
    std::string m_title, m_peer;
    std::string m_agent; ///< id of the process that is this node; empty until one has come
    Handlers m_handlers;
    Link m_link = Link::Absent;
    std::shared_ptr<LineSocket> m_socket;
    std::unique_ptr<NodeLog> m_log; ///< once joined
    Decoder m_decoder;
    std::optional<NodeMessage> m_join, m_over, m_gone;
    std::optional<std::int64_t> m_start; ///< number of the last go
    std::set<int> m_ranks;               ///< those that it was asked to start: it may report for these only
    std::set<int> m_exited;              ///< of them, since the last start
    std::int64_t m_exitNs = 0;           ///< of the last exit, by its monotonic clock
    std::int64_t m_exitCameNs = 0;       ///< when an exit came last, by ours; 0: none has
    TraceInbox m_traces;
    struct AwaitedTraces {
        int due = 0;       ///< asked for, and not come yet
        std::string taken; ///< checksum of the last that came: after a cut it may come again
    };
    std::map<int, AwaitedTraces> m_awaited; ///< by rank
    bool m_reportedRank = false, m_reportedFrame = false, m_reportedTrace = false, m_reportedRequests = false,
         m_reportedDevice = false, m_reportedJoin = false, m_reportedRejoin = false;
    bool m_joinDue = false; ///< one counts after each hello
    std::int64_t m_lostNs = 0, m_askedNs = 0;
    PeerTcpState m_linkWhenLost;
    bool m_closed = false;     ///< the other side closed the connection
    std::int64_t m_pingNs = 0; ///< when the last ping was sent; 0: it was answered
    std::int64_t m_pingWallUs = 0, m_pingNumber = 0;
    ClockOffset m_wallClock, m_monoClock;
    std::optional<double> m_reportedOffsetS;
};

} // namespace lockstep::agent
