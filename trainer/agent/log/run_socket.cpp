// SPDX-License-Identifier: MIT
#include "trainer/agent/log/run_socket.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "ipc/clock.h"
#include "ipc/process_stat.h"
#include "ipc/run_folder.h"
#include "ipc/socket_folder.h"
#include "trainer/agent/net/read_lines.h"

namespace lockstep::agent {

namespace {
constexpr std::size_t followerBuffer = 64 * 1024;
/// How much one follower is sent per turn, so that one that catches up does not hold up the others.
constexpr std::size_t bytesATurnOfAll = 1 << 20;
constexpr int readsAtOnce = 256; ///< of one connection at a time
constexpr std::chrono::seconds viewerHelloTimeout{5}, stallTimeout{5};
constexpr std::chrono::seconds farewell{30}; // a follower that reads slowly attaches again, and then has the log

/// The viewer's process: the peer itself, or its ancestor if the peer is only a bridge (`lockstep-agent attach`).
pid_t viewerProcess(pid_t peer, std::optional<std::int64_t> claimed) {
    if (!claimed)
        return peer;
    pid_t pid = peer;
    for (int up = 0; up < 4 && pid > 1; ++up) {
        if (pid == *claimed)
            return pid;
        pid = processStatOf(pid).value_or(ProcessStat()).parent;
    }
    return peer; // a viewer on another host
}
} // namespace

struct RunSocket::Peer {
    enum class Role { Unknown, Rank, Follower, Gone };
    Fd fd;
    EventLoop::Token token = 0, helloTimer = 0;
    LineFramer framer;
    Role role = Role::Unknown;
    int rank = -1;
    pid_t pid = 0, viewer = 0;
    std::int64_t process = 0; ///< a rank's, as far as it is known
    bool ownsQueue = false;
    RunJournal::Position position;
    bool allNodes = false;
    std::map<int, LogWindow::Position> others; ///< positions in the other nodes' logs
    std::string out;                           ///< not sent yet, from `sent` on
    std::size_t sent = 0;
    bool waitsForRoom = false;
    std::int64_t lastProgressNs = 0;
};

RunSocket::RunSocket(EventLoop &loop, RunJournal &journal, UnixListener listener, std::string runId, int node)
    : m_loop(loop), m_journal(journal), m_runId(std::move(runId)), m_path(listener.path()), m_node(node),
      m_listener(std::move(listener)) {
    m_foundToken = m_loop.watch(m_journal.reader().foundFd(), EPOLLIN,
                                [this](std::uint32_t) { m_journal.reader().clearFound(); }); // pump() follows
}

Result<std::unique_ptr<RunSocket>> RunSocket::bind(EventLoop &loop, RunJournal &journal, const std::string &path,
                                                   std::string runId, int node) {
    auto listener = UnixListener::bind(path);
    if (!listener)
        return fail(listener.error());
    return std::unique_ptr<RunSocket>(new RunSocket(loop, journal, std::move(*listener), std::move(runId), node));
}

Result<std::unique_ptr<RunSocket>> RunSocket::bindForRun(EventLoop &loop, RunJournal &journal, const std::string &runId,
                                                         int node) {
    const auto hold = holdSocketFolder();
    if (!hold)
        return fail(hold.error());
    const auto path = runSocketPath(runId, node);
    if (!path)
        return fail(path.error());
    UnixListener::removeStale(std::filesystem::path(*path).parent_path()); // what killed agents have left
    return bind(loop, journal, *path, runId, node);
}

RunSocket::~RunSocket() {
    m_loop.cancel(m_finishTimer);
    m_loop.unwatch(m_listenToken);
    m_loop.unwatch(m_foundToken);
    for (auto &peer : m_peers)
        closePeer(*peer);
}

void RunSocket::open(Handlers handlers, std::set<int> ranks) {
    m_handlers = std::move(handlers);
    m_ranks = std::move(ranks);
    watchListener();
}

void RunSocket::watchListener() {
    m_listenToken = m_loop.watch(m_listener->fd(), EPOLLIN, [this](std::uint32_t) { acceptAll(); });
}

void RunSocket::acceptAll() {
    for (int i = 0; i < 64 && m_listener; ++i) { // then other events get their turn
        auto fd = m_listener->accept();
        if (!fd) {
            if (const auto note = m_refusals.next(fd.error().message()))
                m_handlers.onRefused(*note);
            continue;
        }
        if (!fd->valid())
            return;
        auto peer = std::make_unique<Peer>();
        peer->fd = std::move(*fd);
        if (const auto credentials = peerCredentials(peer->fd.get()))
            peer->pid = credentials->pid;
        Peer &added = *peer;
        m_peers.push_back(std::move(peer));
        added.token =
            m_loop.watch(added.fd.get(), EPOLLIN, [this, &added](std::uint32_t events) { onPeerEvent(added, events); });
        added.helloTimer = m_loop.after(viewerHelloTimeout, [this, &added] {
            refuse(added, Error::failed("no hello within 5 s", "send a hello line first"));
        });
    }
}

void RunSocket::onPeerEvent(Peer &peer, std::uint32_t events) {
    if (events & EPOLLOUT) {
        peer.waitsForRoom = false;
        pumpPeer(peer);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        readPeer(peer);
}

bool RunSocket::readPeer(Peer &peer) {
    if (peer.role == Peer::Role::Gone)
        return false;
    const ReadLines read = readLines(peer.fd.get(), peer.framer, [&](std::string_view line) { takeLine(peer, line); });
    if (read.kind == ReadLines::Kind::Nothing)
        return false;
    if (read.kind == ReadLines::Kind::Closed) {
        closePeer(peer);
    } else if (read.kind == ReadLines::Kind::Endless && peer.role != Peer::Role::Gone) {
        if (peer.role == Peer::Role::Rank)
            m_handlers.onRankCut(peer.rank, read.error);
        refuse(peer, read.error);
    }
    return peer.role != Peer::Role::Gone;
}

void RunSocket::takeLine(Peer &peer, std::string_view line) {
    switch (peer.role) {
    case Peer::Role::Unknown:
        takeHello(peer, line);
        break;
    case Peer::Role::Rank:
        if (m_processes.beginsAnother(peer.rank, line) && m_handlers.onOtherProcess)
            m_handlers.onOtherProcess(peer.rank);
        m_handlers.onRankLine(peer.rank, line);
        break;
    case Peer::Role::Follower:
        if (const auto control = decodeControl(line))
            m_handlers.onControl(*control);
        else
            refuse(peer, control.error());
        break;
    case Peer::Role::Gone:
        break;
    }
}

void RunSocket::takeHello(Peer &peer, std::string_view line) {
    const auto hello = decodeHello(line);
    if (!hello)
        return refuse(peer, hello.error());
    const bool isRank = hello->role == "rank";
    if (!isRank && hello->role != "follower")
        return refuse(peer,
                      Error::failed("role '" + hello->role + "' can't connect here", "use the role rank or follower"));
    const auto known = [&](int rank) {
        return m_ranks.contains(rank) || (m_handlers.onUnknownRank && m_handlers.onUnknownRank(rank));
    };
    if (isRank && (!hello->rank || !known(*hello->rank)))
        return refuse(peer, Error::failed("rank " + (hello->rank ? std::to_string(*hello->rank) : "absent") +
                                              " is not one of this run's ranks on this node",
                                          "send the RANK given in the environment"));
    m_loop.cancel(peer.helloTimer);
    Hello answer;
    answer.role = "agent";
    answer.run = m_runId;
    answer.node = m_node;
    answer.nextSeq = m_journal.nextSeq();
    answer.live = true;
    if (hello->nextSeqs) {
        answer.nextSeqs.emplace();
        for (const auto &[node, log] : m_others)
            (*answer.nextSeqs)[node] = log->nextSeq();
    }
    peer.out = encode(answer) + "\n";
    peer.lastProgressNs = SystemClock().monoNs();
    if (isRank) {
        peer.role = Peer::Role::Rank;
        peer.rank = *hello->rank;
        (void)::send(peer.fd.get(), peer.out.data(), peer.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        peer.out.clear();
        m_everConnected.insert(peer.rank);
        m_rankPids[peer.rank] = peer.pid;
        // A process in a container of its own doesn't know its number here. The kernel gives none if it is outside this one's.
        noteProcess(peer, peer.pid > 0 ? peer.pid : hello->pid.value_or(0));
    } else {
        peer.role = Peer::Role::Follower;
        peer.position.nextSeq = hello->nextSeq;
        peer.allNodes = hello->nextSeqs.has_value();
        if (peer.allNodes)
            for (const auto &[node, seq] : *hello->nextSeqs)
                peer.others[node].nextSeq = seq;
        peer.viewer = viewerProcess(peer.pid, hello->pid);
        peer.ownsQueue = hello->ownsQueue;
        pumpPeer(peer);
    }
}

/// While a rank's process is connected, another one that says it is the same rank is not taken for its successor.
void RunSocket::noteProcess(Peer &peer, std::int64_t pid) {
    peer.process = pid;
    readRest(peer.rank, peer);
    bool alone = true;
    for (const auto &other : m_peers)
        if (other.get() != &peer && other->role == Peer::Role::Rank && other->rank == peer.rank) {
            alone = false;
            sayIfTwo(peer, *other);
        }
    if (alone && m_processes.greet(peer.rank, std::to_string(pid)) == RankProcesses::Is::Another &&
        m_handlers.onOtherProcess)
        m_handlers.onOtherProcess(peer.rank);
}

/// A process may connect twice, and what a rank has forked may hold the connection of one that has ended.
void RunSocket::sayIfTwo(const Peer &peer, const Peer &other) {
    const bool bothKnown = peer.process > 0 && other.process > 0 && peer.process != other.process;
    const bool lives =
        other.pid <= 0 || ::kill(other.pid, 0) == 0 || errno != ESRCH; // 0: it is in a container of its own
    if (bothKnown && lives && m_handlers.onTwoProcesses && m_doubled.insert(peer.rank).second)
        m_handlers.onTwoProcesses(peer.rank, other.process, peer.process);
}

/// What the rank's process before has sent, and that it has closed its connection: its successor's may arrive first.
void RunSocket::readRest(int rank, const Peer &butOf) {
    for (const auto &peer : m_peers)
        if (peer.get() != &butOf && peer->role == Peer::Role::Rank && peer->rank == rank)
            for (int reads = 0; reads < readsAtOnce && readPeer(*peer); ++reads) {
            }
}

void RunSocket::refuse(Peer &peer, const Error &why) {
    if (peer.role == Peer::Role::Gone)
        return;
    const std::string line = encodeProtocolError(why.message()) + "\n";
    (void)::send(peer.fd.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    closePeer(peer);
}

void RunSocket::closePeer(Peer &peer) {
    m_loop.cancel(peer.helloTimer);
    m_loop.unwatch(peer.token);
    peer.fd.close();
    peer.role = Peer::Role::Gone; // removed after the batch, since a caller may still use it
    peer.out.clear();
}

void RunSocket::sweep() {
    m_peers.remove_if([](const auto &peer) { return peer->role == Peer::Role::Gone; });
}

/// Node 0's lines come first: they describe the other nodes.
void RunSocket::readFor(Peer &peer) {
    m_journal.read(peer.position, peer.out, followerBuffer);
    if (peer.allNodes)
        for (const auto &[node, log] : m_others)
            log->read(peer.others[node], peer.out, followerBuffer);
}

void RunSocket::pumpPeer(Peer &peer) {
    std::size_t sentNow = 0;
    while (peer.role == Peer::Role::Follower && !peer.waitsForRoom) {
        if (peer.sent == peer.out.size()) {
            peer.out.clear();
            peer.sent = 0;
            if (sentNow < bytesATurnOfAll)
                readFor(peer);
            if (peer.out.empty())
                break;
        }
        const ssize_t n = ::send(peer.fd.get(), peer.out.data() + peer.sent, peer.out.size() - peer.sent,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return closePeer(peer);
        if (n < 0) {
            peer.waitsForRoom = true;
            break;
        }
        peer.sent += static_cast<std::size_t>(n);
        sentNow += static_cast<std::size_t>(n);
        peer.lastProgressNs = SystemClock().monoNs();
    }
    if (peer.role != Peer::Role::Follower)
        return;
    if (sentNow >= bytesATurnOfAll)
        peer.waitsForRoom = true; // its next turn comes with the next batch
    m_loop.change(peer.token, peer.waitsForRoom ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void RunSocket::pump() {
    for (const auto &peer : m_peers)
        if (peer->role == Peer::Role::Follower && !peer->waitsForRoom && !allRead(*peer))
            pumpPeer(*peer);
    sweep();
    checkFinished();
}

void RunSocket::drainRanks() {
    if (m_listener)
        acceptAll();
    for (const auto &peer : m_peers)
        if (peer->role == Peer::Role::Unknown || peer->role == Peer::Role::Rank)
            for (int reads = 0; reads < readsAtOnce && peer->role != Peer::Role::Follower && readPeer(*peer); ++reads) {
            }
}

void RunSocket::expectOtherProcesses() {
    drainRanks();
    for (const auto &peer : m_peers)
        if (peer->role == Peer::Role::Rank)
            closePeer(*peer);
    m_processes.forget();
    m_rankPids.clear();
}

std::set<int> RunSocket::sendControl(const Control &control) {
    const std::string line = encode(control) + "\n";
    std::set<int> reached;
    for (const auto &peer : m_peers)
        if (peer->role == Peer::Role::Rank && ::send(peer->fd.get(), line.data(), line.size(),
                                                     MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(line.size()))
            reached.insert(peer->rank);
    return reached;
}

std::vector<pid_t> RunSocket::followers(bool ownQueue) const {
    std::set<pid_t> pids;
    for (const auto &peer : m_peers)
        if (peer->role == Peer::Role::Follower && peer->viewer > 0 && peer->ownsQueue == ownQueue)
            pids.insert(peer->viewer);
    return {pids.begin(), pids.end()};
}

void RunSocket::rebindIfLost() {
    struct stat info {};
    if (m_finishing || (m_listener && ::stat(m_path.c_str(), &info) == 0))
        return;
    m_loop.unwatch(m_listenToken);
    m_listener.reset();
    const auto hold = holdSocketFolder();
    const auto path = runSocketPath(m_runId, m_node);
    if (!hold || !path)
        return; // tried again one second later
    if (auto listener = UnixListener::bind(*path)) {
        m_listener.emplace(std::move(*listener));
        m_path = *path;
        watchListener();
        if (m_handlers.onBoundAgain)
            m_handlers.onBoundAgain();
    }
}

bool RunSocket::allRead(const Peer &peer) const {
    if (peer.sent != peer.out.size() || peer.position.nextSeq < m_journal.nextSeq())
        return false;
    return !peer.allNodes || std::all_of(m_others.begin(), m_others.end(), [&](const auto &log) {
        const auto at = peer.others.find(log.first);
        return (at == peer.others.end() ? 0 : at->second.nextSeq) >= log.second->nextSeq();
    });
}

void RunSocket::finish(std::function<void()> done) {
    m_loop.unwatch(m_listenToken);
    m_listener.reset();
    m_finishing = true;
    m_finishNs = SystemClock().monoNs();
    m_done = std::move(done);
    m_finishTimer = m_loop.every(std::chrono::milliseconds(100), [this] { pump(); });
    for (const auto &peer : m_peers)
        if (peer->role != Peer::Role::Follower)
            closePeer(*peer);
}

void RunSocket::checkFinished() {
    if (!m_done)
        return;
    const std::int64_t now = SystemClock().monoNs();
    const std::int64_t stalledBefore = now - std::chrono::nanoseconds(stallTimeout).count();
    const bool late = now - m_finishNs > std::chrono::nanoseconds(farewell).count();
    for (const auto &peer : m_peers)
        if (late || allRead(*peer) || peer->lastProgressNs < stalledBefore)
            closePeer(*peer);
    sweep();
    if (m_peers.empty())
        std::exchange(m_done, nullptr)();
}

} // namespace lockstep::agent
