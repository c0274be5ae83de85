// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "ipc/clock.h"
#include "ipc/messages.h"
#include "ipc/name_lookup.h"
#include "ipc/node_messages.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/net/line_socket.h"
#include "trainer/agent/nodes/trace_transfer.h"

namespace lockstep::agent {

/// Agent K's side (K > 0) of its link to agent 0 (ipc/node_messages.h). It joins, sends its log from the first line
/// that agent 0 lacks, passes on agent 0's orders, and reconnects after a cut. All calls on the loop's thread, which never waits for name
/// servers. Each address of a name is tried in turn; once it has joined, the link keeps the one that led there, since agent 0 doesn't move.
///   Joining → Up ⇄ Lost; close() ends it in any state
class NodeLink {
public:
    static constexpr std::chrono::seconds silence{6};

    struct Handlers {
        std::function<void()> onJoined; ///< once
        /// Before the first join, or agent 0 takes another agent for this node. The link is closed.
        std::function<void(const Error &why)> onRefused;
        std::function<void(const NodeMessage &message)> onOrder; ///< go, abort, stop, trace, end
        std::function<void(const std::string &why)> onLost;
        std::function<void()> onBack;
    };
    struct Options {
        std::string runId, host, token;
        int node = 1;
        std::string address; ///< "HOST:PORT" of agent 0
        NodeMessage join;
        NameLookup::Resolve lookUp = resolve; ///< how HOST is looked up
    };
    NodeLink(EventLoop &loop, const Clock &clock, const RunJournal &journal, Options options);
    ~NodeLink();

    void start(Handlers handlers);
    void pump(); ///< sends new log lines; call after each batch of the loop
    /// Sends a message. If the link is lost, over, failed and gone are sent again when it is back; stop and trace are
    /// dropped.
    void say(const NodeMessage &message);
    /// Sends a rank's trace after the log, and again after a cut, until agent 0 has it. All traces go before `over`.
    void sendTrace(int rank, std::string text) { m_traces.add(rank, std::move(text)); }
    void ranksStarted() { m_ranksStarted = true; } ///< agent 0 learns it when the link comes back
    void forgetSaid() { m_kept.clear(); }          ///< messages that were sent are not repeated after a cut any more

    [[nodiscard]] bool up() const { return m_up; }
    /// How long the link to agent 0 has been down; 0 while it is up.
    [[nodiscard]] std::chrono::milliseconds lostFor() const;
    /// How long agent 0's host has refused connections; 0 otherwise.
    [[nodiscard]] std::chrono::milliseconds refusedFor() const;
    [[nodiscard]] const std::string &lastFailure() const { return m_lastFailure; }
    [[nodiscard]] const std::string &address() const { return m_options.address; }
    [[nodiscard]] std::uint64_t ackedSeq() const { return m_acked; }
    void close();

private:
    void connect();
    [[nodiscard]] bool knowsAddresses(); ///< false: not yet, or the look-up failed; another try is due
    void tryAddress();
    void connected(std::uint32_t events);
    void failed(int error); ///< errno of the address that was tried
    void giveUpRound(const std::string &why, bool refused);
    void greet(Fd fd);
    void takeLine(std::string_view line);
    void takeHello(std::string_view line);
    void end(const Error &why);
    void distrust(const Error &why); ///< what answers is not, or does not want, this run's agent
    void lose(const std::string &why);
    void retry();
    void checkLink();
    [[nodiscard]] std::string afterLog();

    EventLoop &m_loop;
    const Clock &m_clock;
    const RunJournal &m_journal;
    Options m_options;
    const std::string m_agent; ///< a random id of this process
    Handlers m_handlers;
    NameLookup m_lookup;
    std::vector<NetAddress> m_addresses;
    std::size_t m_at = 0;      ///< the address that is tried, or was reached last
    std::size_t m_tried = 0;   ///< addresses in this round
    bool m_allRefused = false; ///< those of this round that can be reached from here at all
    bool m_anyTried = false;   ///< there was such a one
    std::string m_why;         ///< what became of the last of them, else of the last address
    Fd m_connecting;
    EventLoop::Token m_connectToken = 0, m_timer = 0, m_checkTimer = 0;
    std::shared_ptr<LineSocket> m_socket;
    RunJournal::Position m_position;
    std::vector<NodeMessage> m_kept; ///< sent again after a cut
    TraceOutbox m_traces;
    std::string m_lastFailure;
    std::int64_t m_lostNs = 0, m_refusedNs = 0;
    std::chrono::milliseconds m_backoff;
    std::uint64_t m_acked = 0;
    bool m_up = false, m_joined = false, m_greeted = false, m_closed = false, m_ranksStarted = false;
    bool m_overDue = false; ///< the kept `over` is to be sent once the log and all traces are
};

} // namespace lockstep::agent
