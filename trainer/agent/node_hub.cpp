#include "trainer/agent/node_hub.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <random>
#include <set>

#include "ipc/crc32c.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"

namespace lockstep::agent {

namespace {
using What = NodeMessage::What;
constexpr std::chrono::milliseconds lookAtSilence{250};
constexpr std::chrono::seconds nodeHelloTimeout{5};
constexpr std::size_t mostStrangers = 64, firstTrips = 5;
/// A clock that has moved by more than this against ours is told anew.
constexpr double clockMovedS = 0.05;

bool sameSecret(std::string_view a, std::string_view b) {
    if (a.size() != b.size())
        return false;
    unsigned different = 0; // in the same time wherever they differ
    for (std::size_t i = 0; i < a.size(); ++i)
        different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    return different == 0;
}

int badness(const NodeMessage &over) {
    const auto state = runStateFrom(over.state);
    return state == RunState::Failed ? 2 : state == RunState::Stopped ? 1 : 0;
}
} // namespace

std::string makeToken() {
    std::string token;
    for (int i = 0; i < 4; ++i) {
        std::uint32_t random = 0;
        if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
            random = std::random_device{}();
        token += crcText(random);
    }
    return token;
}

struct NodeHub::Node {
    enum class Link { Absent, Up, Lost, Ended };
    int number = 1;
    std::string host, peer;
    Link link = Link::Absent;
    std::shared_ptr<LineSocket> socket;
    std::unique_ptr<NodeLog> log;
    std::optional<NodeMessage> join, over, gone;
    std::int64_t lostNs = 0, pingNs = 0, pingWallUs = 0, pingNumber = 0;
    bool closed = false; ///< lost by the other side's closing it
    ClockOffset clock, mono;
    TraceInbox traces;
    std::optional<double> toldOffsetS;
};

struct NodeHub::Stranger {
    std::shared_ptr<LineSocket> socket;
    EventLoop::Token timer = 0;
    bool gone = false;
};

Result<std::unique_ptr<NodeHub>> NodeHub::open(EventLoop &loop, const Clock &clock, const RunFolder &folder,
                                               std::string runId, Options options) {
    auto port = bindMasterPort(options.address, options.port);
    if (!port)
        return fail(port.error());
    ::fcntl(port->listener.get(), F_SETFL, ::fcntl(port->listener.get(), F_GETFL) | O_NONBLOCK);
    return std::unique_ptr<NodeHub>(
        new NodeHub(loop, clock, folder, std::move(runId), std::move(options), std::move(*port)));
}

NodeHub::NodeHub(EventLoop &loop, const Clock &clock, const RunFolder &folder, std::string runId, Options options,
                 MasterPort port)
    : m_loop(loop), m_clock(clock), m_folder(folder), m_runId(std::move(runId)), m_options(std::move(options)),
      m_port(std::move(port)) {
    if (m_options.token.empty())
        m_options.token = makeToken();
    const std::string &host = m_options.announce.empty() ? m_port.address : m_options.announce;
    m_join = (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(m_port.port);
    for (std::size_t i = 0; i < m_options.titles.size(); ++i) {
        m_nodes.push_back(std::make_unique<Node>());
        m_nodes.back()->number = static_cast<int>(i) + 1;
    }
}

NodeHub::~NodeHub() {
    for (EventLoop::Token *timer : {&m_secondTimer, &m_silenceTimer})
        m_loop.cancel(*timer);
    m_loop.unwatch(m_listenToken);
    for (auto &stranger : m_strangers)
        m_loop.cancel(stranger->timer);
}

void NodeHub::start(Handlers handlers) {
    m_handlers = std::move(handlers);
    m_listenToken = m_loop.watch(m_port.listener.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
    m_secondTimer = m_loop.every(oneSecond, [this] { everySecond(); });
    m_silenceTimer = m_loop.every(lookAtSilence, [this] {
        const std::int64_t before = m_clock.monoNs() - std::chrono::nanoseconds(silence).count();
        for (const auto &node : m_nodes)
            if (node->socket && node->socket->lastHeardNs() < before)
                lose(*node, "nothing was heard for " + std::to_string(silence.count()) + " s", false);
    });
}

// --- who comes ---------------------------------------------------------------------------------------------------

void NodeHub::accept() {
    for (int i = 0; i < 16; ++i) {
        Fd fd(::accept4(m_port.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd.valid())
            return;
        if (m_strangers.size() >= mostStrangers)
            continue; // whoever opens so many is none of ours; it is closed at once
        auto stranger = std::make_unique<Stranger>();
        Stranger *raw = stranger.get();
        raw->socket = LineSocket::open(m_loop, m_clock, std::move(fd),
                                       {[this, raw](std::string_view line) { takeHello(*raw, line); },
                                        [this, raw](const std::string &) {
                                            m_loop.cancel(raw->timer);
                                            raw->gone = true;
                                        },
                                        {}});
        raw->timer = m_loop.after(nodeHelloTimeout, [this, raw] {
            refuse(*raw, Error::failed("no hello within 5 s", "send a hello line first"));
        });
        m_strangers.push_back(std::move(stranger));
    }
}

void NodeHub::refuse(Stranger &stranger, const Error &why) {
    if (stranger.gone)
        return;
    m_loop.cancel(stranger.timer);
    m_handlers.onRefused(stranger.socket->peer() + " was refused as a node of this run: " + why.message());
    stranger.socket->send(encodeProtocolError(why.message()) + "\n");
    stranger.socket->close();
    stranger.gone = true;
}

void NodeHub::takeHello(Stranger &stranger, std::string_view line) {
    if (stranger.gone)
        return;
    const auto hello = decodeHello(line);
    if (!hello)
        return refuse(stranger, hello.error());
    if (hello->role != "agent" || !sameSecret(hello->token, m_options.token))
        return refuse(stranger, Error::failed("its token is wrong", "take the one that agent 0 answered for this run"));
    if (hello->run != m_runId)
        return refuse(stranger, Error::failed("it is of run " + hello->run + ", this is run " + m_runId));
    const int number = hello->node.value_or(0);
    if (number < 1 || number > count())
        return refuse(stranger, Error::failed("node " + std::to_string(number) + " is not one of this run's " +
                                              std::to_string(count() + 1) + " nodes"));
    m_loop.cancel(stranger.timer);
    stranger.gone = true;
    adopt(*m_nodes[static_cast<std::size_t>(number - 1)], std::move(stranger.socket), *hello);
}

void NodeHub::adopt(Node &node, std::shared_ptr<LineSocket> socket, const Hello &hello) {
    if (node.socket)
        node.socket->close(); // it comes again: the old connection is dead, whether we knew or not
    if (!hello.name.empty())
        node.host = hello.name;
    node.socket = std::move(socket);
    node.peer = node.socket->peer();
    node.socket->setHandlers({[this, &node](std::string_view line) { takeLine(node, line); },
                              [this, &node](const std::string &why) { lose(node, why, true); },
                              {}});
    Hello answer;
    answer.role = "agent";
    answer.run = m_runId;
    answer.node = 0;
    answer.nextSeq = node.log ? node.log->nextSeq() : 0;
    answer.live = true;
    node.socket->send(encode(answer) + "\n");
}

std::string NodeHub::titleOf(const Node &node) const {
    return node.host.empty() ? m_options.titles[static_cast<std::size_t>(node.number - 1)] : node.host;
}

std::string NodeHub::absent() const {
    std::string text;
    for (const auto &node : m_nodes)
        if (!node->join)
            text += (text.empty() ? "" : ", ") + ("node " + std::to_string(node->number)) + " (" + titleOf(*node) + ")";
    return text;
}

// --- what they say -----------------------------------------------------------------------------------------------

void NodeHub::takeLine(Node &node, std::string_view line) {
    if (!isNodeMessage(line))
        return takeLogLine(node, line);
    const auto message = decodeNodeMessage(line);
    if (!message)
        return lose(node, message.error().message(), true);
    takeMessage(node, *message);
}

void NodeHub::takeLogLine(Node &node, std::string_view line) {
    if (!node.log)
        return;
    const auto taken = node.log->take(line);
    if (!taken) // it comes again with the next connection, from the first line that was not taken
        return lose(node, "its lines can't be written here: " + taken.error().message(), true);
    if (*taken == NodeLog::Verdict::Damaged)
        return lose(node, "a damaged line came over the link", true);
    if (*taken == NodeLog::Verdict::Doubled)
        return;
    if (line.starts_with("{\"type\":\"exit\""))
        if (const auto frame = m_decoder.decode(line))
            if (const auto *exit = std::get_if<ExitFrame>(&frame->body); exit && frame->rank)
                m_handlers.onExit({*frame->rank, exit->host, exit->code, exit->signal, exit->signalName});
    if (node.over)
        checkEnded(node);
    else if (node.gone)
        m_handlers.onGone();
}

void NodeHub::takeMessage(Node &node, const NodeMessage &message) {
    switch (message.what) {
    case What::Join:
        return takeJoin(node, message);
    case What::Pong:
        return takePong(node, message);
    case What::Failed:
        return isPast(message) ? void() : m_handlers.onFailed(node.number, message);
    case What::Gone:
        if (isPast(message))
            return;
        node.gone = message;
        return m_handlers.onGone();
    case What::Over:
        node.over = message;
        return checkEnded(node);
    case What::TracePart:
        return takeTrace(node, message);
    case What::Stop:
        return m_handlers.onControl({"stop", message.by, {}});
    case What::Trace:
        return m_handlers.onControl({"trace", message.by, message.steps});
    default:
        return;
    }
}

void NodeHub::takeTrace(Node &node, const NodeMessage &piece) {
    const std::vector<int> counts = processes(), first = firstRanks(counts);
    std::set<int> ranks;
    for (int i = 0; i < counts[static_cast<std::size_t>(node.number)]; ++i)
        ranks.insert(first[static_cast<std::size_t>(node.number)] + i);
    auto whole = node.traces.take(piece, ranks);
    if (!whole)
        return;
    NodeMessage kept;
    kept.what = What::TraceKept;
    kept.rank = whole->rank;
    kept.crc = whole->crc;
    send(node, kept); // a damaged one, too: it would come no better
    m_handlers.onTrace(node.number, std::move(*whole));
}

void NodeHub::takeJoin(Node &node, const NodeMessage &message) {
    if (!node.log) {
        auto log = NodeLog::open(realFileSystem(), m_sync, m_folder.log(node.number), node.number, message.shared);
        if (!log)
            return lose(node, log.error().message(), true);
        node.log = std::move(*log);
    }
    const bool first = !node.join.has_value();
    node.join = message;
    const bool was = node.link == Node::Link::Ended;
    node.link = was ? Node::Link::Ended : Node::Link::Up;
    node.closed = false;
    if (!was)
        tell(node, "up");
    ping(node);
    if (m_go) // what it may have missed
        sendGo(node);
    for (const auto *said : {&m_abort, &m_settle, &m_stop, &m_end})
        if (said->has_value())
            send(node, **said);
    if (!first || m_allJoined || !absent().empty())
        return;
    m_allJoined = true;
    m_handlers.onAllJoined();
}

void NodeHub::ping(Node &node) {
    NodeMessage message;
    message.what = What::Ping;
    message.number = ++node.pingNumber;
    node.pingNs = m_clock.monoNs();
    node.pingWallUs = m_clock.wallUs();
    send(node, message);
}

void NodeHub::takePong(Node &node, const NodeMessage &message) {
    if (message.number != node.pingNumber || !message.wallUs)
        return;
    const std::int64_t tripNs = m_clock.monoNs() - node.pingNs;
    node.clock.take(node.pingWallUs, tripNs, *message.wallUs);
    if (message.monoNs)
        node.mono.take(node.pingNs / 1000, tripNs, *message.monoNs / 1000);
    if (node.clock.trips() < firstTrips)
        return ping(node);
    const auto now = node.clock.estimate();
    if (node.link == Node::Link::Up && (!node.toldOffsetS || std::abs(now->offsetS - *node.toldOffsetS) > clockMovedS))
        tell(node, "up");
}

void NodeHub::tell(Node &node, const std::string &link, const std::string &reason) {
    LinkFrame frame;
    frame.ofNode = node.number;
    frame.host = titleOf(node);
    frame.link = link;
    frame.reason = reason;
    if (node.log)
        frame.nextSeq = node.log->nextSeq();
    if (const auto clock = node.clock.trips() >= firstTrips ? node.clock.estimate() : std::nullopt) {
        frame.clockOffsetS = node.toldOffsetS = clock->offsetS;
        frame.roundTripS = clock->roundTripS;
    }
    m_handlers.onLink(frame);
}

void NodeHub::lose(Node &node, const std::string &why, bool closed) {
    if (node.socket)
        node.socket->close();
    node.socket.reset();
    if (node.link != Node::Link::Up)
        return;
    node.link = Node::Link::Lost;
    node.lostNs = m_clock.monoNs();
    node.closed = closed;
    tell(node, "lost", why);
}

void NodeHub::checkEnded(Node &node) {
    if (node.link == Node::Link::Ended || !node.log || node.log->nextSeq() < node.over->nextSeq.value_or(0))
        return;
    node.link = Node::Link::Ended;
    tell(node, "ended");
}

// --- what they are told ------------------------------------------------------------------------------------------

void NodeHub::send(Node &node, const NodeMessage &message) {
    if (node.socket)
        node.socket->send(encode(message) + "\n");
}

void NodeHub::sendAll(const NodeMessage &message) {
    for (const auto &node : m_nodes)
        send(*node, message);
}

void NodeHub::go(const std::string &masterAddress, int masterPort, int number, int restarts) {
    m_abort.reset(); // of the ranks before these
    m_go.emplace();
    m_go->what = What::Go;
    m_go->masterAddress = masterAddress;
    m_go->masterPort = masterPort;
    m_go->number = number;
    m_go->restarts = restarts;
    for (const auto &node : m_nodes) {
        node->gone.reset();
        sendGo(*node);
    }
}

void NodeHub::settle() {
    if (m_settle)
        return;
    m_settle.emplace();
    m_settle->what = What::Settle;
    sendAll(*m_settle);
}

/// Said of ranks that have been started again since.
bool NodeHub::isPast(const NodeMessage &message) const {
    return m_go && message.number.value_or(0) != m_go->number;
}

bool NodeHub::isGone(const Node &node) {
    return node.gone && node.log && node.log->nextSeq() >= node.gone->nextSeq.value_or(0);
}

bool NodeHub::allGone() const {
    return std::all_of(m_nodes.begin(), m_nodes.end(), [](const auto &node) { return !node->over && isGone(*node); });
}

void NodeHub::sendGo(Node &node) {
    const std::vector<int> counts = processes(), first = firstRanks(counts);
    m_go->worldSize = first.back() + counts.back();
    m_go->firstRank = first[static_cast<std::size_t>(node.number)];
    send(node, *m_go);
}

void NodeHub::abort(const std::string &reason) {
    if (m_abort)
        return;
    m_abort.emplace();
    m_abort->what = What::Abort;
    m_abort->reason = reason;
    m_abort->number = m_go ? m_go->number : std::nullopt;
    sendAll(*m_abort);
}

void NodeHub::stop(const std::string &by) {
    const std::int64_t times = m_stop ? m_stop->number.value_or(0) : 0;
    m_stop.emplace();
    m_stop->what = What::Stop;
    m_stop->by = by;
    m_stop->number = times + 1; // a second stop kills; one that is only told again does not
    sendAll(*m_stop);
}

void NodeHub::trace(const Control &control) {
    NodeMessage message;
    message.what = What::Trace;
    message.by = control.by;
    message.steps = control.steps;
    sendAll(message);
}

void NodeHub::end(RunState state, const std::string &reason, int exitCode) {
    m_end.emplace();
    m_end->what = What::End;
    m_end->state = std::string(toString(state));
    m_end->reason = reason;
    m_end->exitCode = exitCode;
    sendAll(*m_end);
}

void NodeHub::everySecond() {
    for (const auto &node : m_nodes) {
        if (!node->log)
            continue;
        node->log->requestSync();
        NodeMessage ack;
        ack.what = What::Ack;
        ack.nextSeq = node->log->durableSeq();
        send(*node, ack);
        ping(*node);
    }
    sweep();
}

void NodeHub::sweep() {
    m_strangers.remove_if([](const auto &stranger) { return stranger->gone; });
}

// --- how they stand ----------------------------------------------------------------------------------------------

std::vector<int> NodeHub::processes() const {
    std::vector<int> counts{m_options.ownProcesses};
    for (const auto &node : m_nodes)
        counts.push_back(node->join ? node->join->processes.value_or(1) : 1);
    return counts;
}

std::vector<MachineRecord> NodeHub::machines() const {
    std::vector<MachineRecord> machines;
    for (const auto &node : m_nodes)
        if (node->join && node->join->machine) {
            machines.push_back(*node->join->machine);
            machines.back().node = node->number;
        }
    return machines;
}

std::vector<std::string> NodeHub::devices() const {
    std::vector<std::string> devices;
    for (const auto &node : m_nodes)
        if (node->join)
            devices.insert(devices.end(), node->join->devices.begin(), node->join->devices.end());
    return devices;
}

bool NodeHub::allEnded() const {
    return std::all_of(m_nodes.begin(), m_nodes.end(),
                       [](const auto &node) { return node->link == Node::Link::Ended; });
}

bool NodeHub::onlyLostFor(std::chrono::milliseconds closed, std::chrono::milliseconds silent) const {
    const std::int64_t now = m_clock.monoNs();
    return std::all_of(m_nodes.begin(), m_nodes.end(), [&](const auto &node) {
        const auto limit = std::chrono::nanoseconds(node->closed ? closed : silent).count();
        return node->link == Node::Link::Ended || (!m_settle && isGone(*node)) ||
               (node->link == Node::Link::Lost && now - node->lostNs > limit);
    });
}

std::optional<ClockOffset::Estimate> NodeHub::monoClock(int node) const {
    return m_nodes[static_cast<std::size_t>(node - 1)]->mono.estimate();
}

const std::string &NodeHub::peer(int node) const {
    return m_nodes[static_cast<std::size_t>(node - 1)]->peer;
}

bool NodeHub::isLost(int node) const {
    return m_nodes[static_cast<std::size_t>(node - 1)]->link == Node::Link::Lost;
}

bool NodeHub::isAway(int node) const {
    const Node &one = *m_nodes[static_cast<std::size_t>(node - 1)];
    return one.link == Node::Link::Lost || one.link == Node::Link::Ended;
}

std::string NodeHub::lostNodes() const {
    std::string text;
    for (const auto &node : m_nodes)
        if (node->link == Node::Link::Lost)
            text += (text.empty() ? "" : ", ") + titleOf(*node);
    return text;
}

std::string NodeHub::closedAround(std::int64_t monoNs, std::int64_t aroundNs) const {
    for (const auto &node : m_nodes)
        if (node->link == Node::Link::Lost && node->closed && std::abs(node->lostNs - monoNs) < aroundNs)
            return titleOf(*node);
    return {};
}

bool NodeHub::connected() const {
    return std::any_of(m_nodes.begin(), m_nodes.end(), [](const auto &node) { return node->socket != nullptr; });
}

const LogWindow *NodeHub::window(int node) const {
    const auto &log = m_nodes[static_cast<std::size_t>(node - 1)]->log;
    return log ? &log->window() : nullptr;
}

std::map<int, std::uint64_t> NodeHub::logLines() const {
    std::map<int, std::uint64_t> lines;
    for (const auto &node : m_nodes)
        lines[node->number] = node->log ? node->log->nextSeq() : 0;
    return lines;
}

std::optional<NodeMessage> NodeHub::worstEnd() const {
    std::optional<NodeMessage> worst;
    for (const auto &node : m_nodes)
        if (node->over && (!worst || badness(*node->over) > badness(*worst)))
            worst = node->over;
    return worst;
}

} // namespace lockstep::agent
