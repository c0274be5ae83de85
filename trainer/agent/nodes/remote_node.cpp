// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/remote_node.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include "ipc/file_system.h"
#include "ipc/log.h"
#include "ipc/sound_values.h"
#include "trainer/agent/nodes/sound_reports.h"

namespace lockstep::agent {

namespace {
using What = NodeMessage::What;
constexpr std::size_t firstTrips = 5; ///< round trips before a clock's offset is trusted
/// An offset that has changed by more than this is reported again.
constexpr double clockMovedS = 0.05;
/// Traces of a rank that are awaited at a time. More requests than ranks can have answered make no more of them.
constexpr int mostTracesDue = 100;
/// A node may ask all ranks for traces and stacks so often at once, and then once each interval.
constexpr int requestsAtOnce = 10;
constexpr std::int64_t requestIntervalNs = 1'000'000'000;

/// The frames of its ranks that agent 0 acts upon or checks; it only stores and passes on the others. Python writes a blank after the colon.
bool isLookedAt(std::string_view line) {
    constexpr std::string_view head = R"({"type":)";
    if (!line.starts_with(head))
        return false;
    line.remove_prefix(head.size());
    if (line.starts_with(' '))
        line.remove_prefix(1);
    return std::ranges::any_of(
        std::array{R"("exit")", R"("steps")", R"("epoch")", R"("state")", R"("heartbeat")", R"("header")"},
        [&](std::string_view type) { return line.starts_with(type); });
}

/// The rank of a frame that names it where ours do, behind its type. No frame can name another one too: it could not be read.
std::optional<int> rankAtHead(std::string_view line) {
    const auto pass = [&line](std::string_view text) {
        const bool there = line.starts_with(text);
        line.remove_prefix(there ? text.size() : 0);
        return there;
    };
    if (!pass(R"({"type":)"))
        return std::nullopt;
    pass(" ");
    const std::size_t end = pass("\"") ? line.find_first_of("\"\\") : std::string_view::npos;
    if (end == std::string_view::npos)
        return std::nullopt;
    line.remove_prefix(end);
    if (!pass("\","))
        return std::nullopt;
    pass(" ");
    if (!pass(R"("rank":)"))
        return std::nullopt;
    pass(" ");
    int rank = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), rank);
    const bool whole = read.ec == std::errc() && read.ptr != line.data() + line.size() && *read.ptr == ',';
    return whole ? std::optional(rank) : std::nullopt;
}
} // namespace

RemoteNode::RemoteNode(const Clock &clock, LogDisk &disk, LogFileReader &reader, RunFolder folder, int number,
                       std::string title)
    : m_clock(clock), m_disk(disk), m_reader(reader), m_folder(std::move(folder)), m_number(number),
      m_title(std::move(title)) {}

Result<void> RemoteNode::checkAgent(const Hello &hello) const {
    const std::string node = "node " + std::to_string(m_number) + " (" + m_title + ")";
    const bool other = !m_agent.empty() && m_agent != hello.agent;
    if (other && connected())
        return fail(Error::failed("another agent has joined as " + node + " from " + m_peer + " and is still there",
                                  "give each node a number of its own"));
    if (other && m_start)
        return fail(Error::failed("the agent that had joined as " + node +
                                      " is lost, and its ranks had been started: another one can't take its place",
                                  "start the whole run again"));
    if (hello.ranksStarted && !m_start)
        return fail(Error::failed("the ranks of " + node + " were started by another agent 0, which is gone",
                                  "start the whole run again"));
    return {};
}

Result<void> RemoteNode::connect(std::shared_ptr<LineSocket> socket, const Hello &hello) {
    if (const auto fits = checkAgent(hello); !fits) {
        greet(hello, fits.error().message(), *socket);
        socket->close();
        return fits;
    }
    if (m_socket)
        m_socket->close(); // the node reconnects, so the old connection is dead even if nothing was noticed
    if (!m_agent.empty() && m_agent != hello.agent)
        beginAnew();
    m_agent = hello.agent;
    if (!hello.name.empty())
        m_title = shortName(hello.name);
    m_joinDue = true;
    m_socket = std::move(socket);
    m_peer = m_socket->peer();
    m_socket->setHandlers(
        {[this](std::string_view line) { onLine(line); }, [this](const std::string &why) { lose(why, true); }, {}});
    greet(hello, {}, *m_socket);
    return {};
}

void RemoteNode::greet(const Hello &hello, const std::string &refused, LineSocket &socket) const {
    Hello answer;
    answer.role = "agent";
    answer.run = hello.run;
    answer.node = 0;
    answer.nextSeq = logLines();
    answer.live = true;
    answer.refused = refused;
    socket.send(encode(answer) + "\n");
}

/// Forgets the agent that was this node before the ranks started, and the copy of its log: another one writes another log.
void RemoteNode::beginAnew() {
    if (m_log && m_join && !m_join->shared) {
        std::error_code ignored; // if it stays, the new copy can't be opened, which is reported
        std::filesystem::remove(m_log->path(), ignored);
    }
    m_log.reset();
    m_join.reset();
    m_link = Link::Absent;
    m_closed = false;
    m_wallClock = m_monoClock = ClockOffset();
    m_reportedOffsetS.reset();
}

void RemoteNode::send(const NodeMessage &message) {
    if (!m_socket)
        return;
    m_socket->send(encode(message) + "\n");
    if (message.what == What::Trace)
        expectTraces();
}

void RemoteNode::expectTraces() {
    for (const int rank : m_ranks)
        m_awaited[rank].due = std::min(m_awaited[rank].due + 1, mostTracesDue);
}

/// What it does again and again is reported once.
void RemoteNode::overstep(bool &reported, const std::string &does) {
    if (!std::exchange(reported, true))
        m_handlers.onOverstep("node " + std::to_string(m_number) + " (" + m_title + ") " + does);
}

std::string RemoteNode::ownRanks() const {
    if (m_ranks.empty())
        return "it has none yet";
    const std::string first = std::to_string(*m_ranks.begin()), last = std::to_string(*m_ranks.rbegin());
    return m_ranks.size() == 1 ? "it has rank " + first : "it has ranks " + first + " to " + last;
}

/// A rank that the frame names and that is another node's.
std::optional<int> RemoteNode::otherRankIn(const Frame &frame) const {
    if (frame.rank && !isOwn(*frame.rank))
        return frame.rank;
    if (const auto *sample = std::get_if<DeviceFrame>(&frame.body))
        for (const ProcessSample &process : sample->processes)
            if (process.rank && !isOwn(*process.rank))
                return process.rank;
    return std::nullopt;
}

bool RemoteNode::isForeign(const Frame &frame) const {
    return otherRankIn(frame) || !canBeOf(m_number, frame) || otherDeviceIn(frame, m_number, *m_join);
}

void RemoteNode::reportOtherRank(int rank) {
    overstep(m_reportedRank, "reports for rank " + std::to_string(rank) + ", and " + ownRanks() +
                                 "; what it says of others is left out");
}

void RemoteNode::reportForeign(const Frame &frame) {
    if (const std::optional<int> rank = otherRankIn(frame))
        return reportOtherRank(*rank);
    const std::optional<std::string> device = otherDeviceIn(frame, m_number, *m_join);
    if (device && canBeOf(m_number, frame))
        return overstep(m_reportedDevice, "reports for device " + shortName(*device) +
                                              ", which is not one of its own; such lines are left out");
    const auto *alert = std::get_if<AlertFrame>(&frame.body);
    const bool header = std::holds_alternative<HeaderFrame>(frame.body) && !frame.rank;
    const std::string how = header ? "after its log's first line" : frame.rank ? "with a rank" : "without a rank";
    overstep(m_reportedFrame, "reports '" + (alert ? alert->kind : std::string(typeOf(frame))) + "' " + how +
                                  ", which a further node may not; such lines are left out");
}

void RemoteNode::lose(const std::string &why, bool closed) {
    m_linkWhenLost = m_socket ? readTcpState(m_socket->descriptor()) : PeerTcpState{};
    if (m_socket)
        m_socket->close();
    m_socket.reset();
    if (m_link != Link::Up)
        return;
    m_link = Link::Lost;
    m_lostNs = m_clock.monoNs();
    m_closed = closed;
    reportLink("lost", why);
}

void RemoteNode::checkSilence(std::chrono::seconds limit) {
    const std::int64_t before = m_clock.monoNs() - std::chrono::nanoseconds(limit).count();
    if (m_socket && m_socket->lastHeardNs() < before)
        lose("nothing was heard for " + std::to_string(limit.count()) + " s", false);
}

void RemoteNode::checkEnded() {
    if (m_link == Link::Ended || !m_log || m_log->nextSeq() < m_over->nextSeq.value_or(0))
        return;
    m_link = Link::Ended;
    reportLink("ended");
}

void RemoteNode::reportLink(const std::string &link, const std::string &reason) {
    LinkFrame frame;
    frame.ofNode = m_number;
    frame.host = m_title;
    frame.link = link;
    frame.reason = reason;
    if (m_log)
        frame.nextSeq = m_log->nextSeq();
    if (const auto clock = m_wallClock.trips() >= firstTrips ? m_wallClock.estimate() : std::nullopt;
        clock && std::abs(clock->offsetS) <= longestDurationS) { // no reader takes more
        frame.clockOffsetS = m_reportedOffsetS = clock->offsetS;
        frame.roundTripS = clock->roundTripS;
    }
    m_handlers.onLink(frame);
}

bool RemoteNode::isLostFor(std::chrono::milliseconds closed, std::chrono::milliseconds silent) const {
    const auto limit = std::chrono::nanoseconds(m_closed ? closed : silent).count();
    return m_link == Link::Lost && m_clock.monoNs() - m_lostNs > limit;
}

bool RemoteNode::closedAround(std::int64_t monoNs, std::int64_t aroundNs) const {
    return m_link == Link::Lost && m_closed && std::abs(m_lostNs - monoNs) < aroundNs;
}

void RemoteNode::onLine(std::string_view line) {
    if (!isNodeMessage(line) ||
        placeOfSealedLine(line)) // an agent seals what its ranks have sent, and nothing that it says itself
        return onLogLine(line);
    const auto message = decodeNodeMessage(line);
    if (!message)
        return lose(message.error().message(), true);
    onMessage(*message);
}

void RemoteNode::onLogLine(std::string_view line) {
    if (!m_log)
        return;
    const bool looked = isLookedAt(line);
    std::optional<Frame> frame;
    if (looked || !isOwn(rankAtHead(line).value_or(-1)))
        if (auto decoded = m_decoder.decode(line))
            frame = std::move(*decoded);
    const bool foreign = frame && isForeign(*frame);
    const NodeLog::Verdict taken = foreign ? m_log->leaveOut(line) : m_log->take(line);
    if (taken == NodeLog::Verdict::Damaged)
        return lose("a damaged line came over the link", true);
    if (taken == NodeLog::Verdict::Doubled)
        return;
    if (foreign) {
        reportForeign(*frame);
    } else if (looked && frame && frame->rank && !std::holds_alternative<EpochFrame>(frame->body)) {
        const auto *exit = std::get_if<ExitFrame>(&frame->body);
        if (!exit)
            m_handlers.onRankFrame(*frame->rank, *frame);
        else
            onExit(*frame, *exit);
    }
    if (m_over)
        checkEnded();
    else if (m_gone)
        m_handlers.onGone();
}

void RemoteNode::onExit(const Frame &frame, const ExitFrame &exit) {
    if (!m_exited.insert(*frame.rank).second)
        return; // a rank ends once a start
    m_exitNs = std::max(m_exitNs, frame.monoNs);
    m_exitCameNs = m_clock.monoNs();
    m_handlers.onExit(soundExit(*frame.rank, exit));
}

/// An exit may come long after it was, over a link that was lost.
std::optional<std::int64_t> RemoteNode::lastExitNs() const {
    if (m_exitCameNs == 0)
        return std::nullopt;
    const auto clock = monoClock();
    if (!clock)
        return m_exitCameNs;
    const double here = static_cast<double>(m_exitNs) - clock->offsetS * 1e9;
    return static_cast<std::int64_t>(std::clamp(here, 0.0, static_cast<double>(m_exitCameNs)));
}

void RemoteNode::onMessage(const NodeMessage &message) {
    switch (message.what) {
    case What::Join:
        return onJoin(message);
    case What::Pong:
        return onPong(message);
    case What::Failed:
        return onFailed(message);
    case What::Gone:
        if (isPast(message))
            return;
        m_gone = message;
        return m_handlers.onGone();
    case What::Over:
        m_over = soundEnd(message);
        m_over->reason = asReported(m_over->reason);
        return checkEnded();
    case What::TracePart:
        return onTracePart(message);
    case What::Stop:
        return m_handlers.onControl({"stop", message.by, {}});
    case What::Trace:
        return onRequest({"trace", message.by, message.steps});
    case What::Stacks:
        return onRequest({"stacks", message.by, {}});
    default:
        return;
    }
}

void RemoteNode::onFailed(const NodeMessage &message) {
    if (isPast(message))
        return;
    if (message.rank && !isOwn(*message.rank))
        return reportOtherRank(*message.rank);
    NodeMessage failed = soundFailure(message);
    failed.reason = asReported(failed.reason);
    m_handlers.onFailed(failed);
}

/// A reason that names one of its ranks is about that rank. Any other could pass for agent 0's, so it says whose it is.
std::string RemoteNode::asReported(const std::string &reason) const {
    const auto names = [&](int rank) { return reason.starts_with("rank " + std::to_string(rank) + " on "); };
    if (reason.empty() || std::ranges::any_of(m_ranks, names))
        return reason;
    return "node " + std::to_string(m_number) + " (" + m_title + ") reports: " + reason;
}

/// Each is a note in agent 0's log, and a message to all ranks.
void RemoteNode::onRequest(const Control &control) {
    if (mayAsk())
        return m_handlers.onControl(control);
    overstep(m_reportedRequests, "asks for traces or stacks more than once a second; it is answered once a second");
}

bool RemoteNode::mayAsk() {
    const std::int64_t now = m_clock.monoNs();
    const std::int64_t asked = std::max(m_askedNs, now - requestsAtOnce * requestIntervalNs) + requestIntervalNs;
    if (asked > now)
        return false;
    m_askedNs = asked;
    return true;
}

/// The node ends with the reason, and closes the link itself: closing it here could cut the reason off.
void RemoteNode::refuseJoin(const Error &why) {
    overstep(m_reportedJoin, "can't join: " + why.message());
    NodeMessage end;
    end.what = What::End;
    end.state = std::string(toString(RunState::Failed));
    end.exitCode = exitFailed;
    end.reason = "agent 0 does not take node " + std::to_string(m_number) + " (" + m_title + "): " + why.message();
    send(end);
}

void RemoteNode::onJoin(const NodeMessage &message) {
    if (!std::exchange(m_joinDue, false))
        return;
    if (const auto fits = checkJoin(m_number, message); !fits)
        return refuseJoin(fits.error());
    if (!m_log) {
        auto log = NodeLog::open(realFileSystem(), m_disk, m_reader, m_folder.log(m_number), m_number, message.shared);
        if (!log)
            return lose(log.error().message(), true);
        m_log = std::move(*log);
    }
    if (!m_join)
        m_join = message;
    else if (const std::string change = changeInJoin(*m_join, message); !change.empty())
        overstep(m_reportedRejoin, "joins again with " + change + "; what it joined with first counts");
    m_closed = false;
    if (m_link != Link::Ended) {
        m_link = Link::Up;
        reportLink("up");
    }
    ping();
    m_handlers.onJoined();
}

/// Whether the message is about ranks that have been restarted since.
bool RemoteNode::isPast(const NodeMessage &message) const {
    return m_start && message.number.value_or(0) != m_start;
}

bool RemoteNode::ranksGone() const {
    return m_gone && m_log && m_log->nextSeq() >= m_gone->nextSeq.value_or(0);
}

void RemoteNode::onTracePart(const NodeMessage &piece) {
    const auto awaited = m_awaited.find(piece.rank.value_or(-1));
    if (awaited == m_awaited.end() || awaited->second.due == 0 || awaited->second.taken == piece.crc)
        return refuseTrace(piece);
    auto whole = m_traces.take(piece, m_ranks);
    if (!whole)
        return;
    --awaited->second.due;
    awaited->second.taken = whole->crc;
    sendTraceKept(whole->rank, whole->crc); // also for a damaged trace: sending it again would not help
    m_handlers.onTrace(std::move(*whole));
}

/// The node learns that the trace is kept; else it would send it again after each cut, and wait for that at its end.
void RemoteNode::refuseTrace(const NodeMessage &piece) {
    const int rank = piece.rank.value_or(-1);
    const auto awaited = m_awaited.find(rank);
    const bool again = awaited != m_awaited.end() && awaited->second.taken == piece.crc; // its confirmation was cut off
    if (!again)
        overstep(m_reportedTrace, isOwn(rank) ? "sends a trace of rank " + std::to_string(rank) +
                                                    " that nobody has asked for; such traces are left out"
                                              : "sends a trace of rank " + std::to_string(rank) + ", and " +
                                                    ownRanks() + "; such traces are left out");
    const bool last = piece.offset.value_or(0) + piece.text.size() >= piece.total.value_or(0);
    if (last && m_socket && m_socket->room())
        sendTraceKept(rank, piece.crc);
}

void RemoteNode::sendTraceKept(int rank, const std::string &crc) {
    NodeMessage kept;
    kept.what = What::TraceKept;
    kept.rank = rank;
    kept.crc = crc;
    send(kept);
}

void RemoteNode::ping() {
    NodeMessage message;
    message.what = What::Ping;
    message.number = ++m_pingNumber;
    m_pingNs = m_clock.monoNs();
    m_pingWallUs = m_clock.wallUs();
    send(message);
}

void RemoteNode::onPong(const NodeMessage &message) {
    if (message.number != m_pingNumber || !message.wallUs || m_pingNs == 0)
        return;
    const std::int64_t sentNs = std::exchange(m_pingNs, 0), tripNs = m_clock.monoNs() - sentNs;
    m_wallClock.take(m_pingWallUs, tripNs, *message.wallUs);
    if (message.monoNs)
        m_monoClock.take(sentNs / 1000, tripNs, *message.monoNs / 1000);
    if (m_wallClock.trips() < firstTrips)
        return ping();
    const auto now = m_wallClock.estimate();
    if (m_link == Link::Up && (!m_reportedOffsetS || std::abs(now->offsetS - *m_reportedOffsetS) > clockMovedS))
        reportLink("up");
}

void RemoteNode::everySecond() {
    if (!m_log)
        return;
    m_log->requestSync();
    NodeMessage ack;
    ack.what = What::Ack;
    ack.nextSeq = m_log->durableSeq();
    send(ack);
    ping();
}

void RemoteNode::sendGo(const NodeMessage &go, int ranks) {
    const bool anew = m_start != go.number;
    if (anew) {
        m_gone.reset(); // it was about the previous ranks
        m_exited.clear();
    }
    m_start = go.number;
    m_ranks.clear();
    for (int i = 0; i < ranks; ++i)
        m_ranks.insert(go.firstRank.value_or(0) + i);
    if (anew)
        expectTraces(); // their command may ask for one of their first steps
    send(go);
}

} // namespace lockstep::agent
