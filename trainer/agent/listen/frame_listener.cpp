// SPDX-License-Identifier: MIT
#include "trainer/agent/listen/frame_listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ipc/line_framer.h"
#include "ipc/port_holder.h"
#include "trainer/agent/net/line_socket.h"
#include "trainer/agent/net/net_talk.h"
#include "trainer/agent/net/peer_tcp_state.h"
#include "trainer/agent/net/read_lines.h"
#include "trainer/agent/net/secrets.h"
#include "trainer/agent/ranks/master_port.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::seconds helloTimeout{5};

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
} // namespace

struct FrameListener::Peer {
    Fd fd;
    EventLoop::Token token = 0, helloTimer = 0;
    std::optional<UnauthenticatedPeers::Id> unauthenticated; ///< until the hello
    LineFramer framer;
    std::optional<int> rank; ///< set by the hello
    std::string from;
    bool gone = false;
};

FrameListener::FrameListener(EventLoop &loop, std::string address, std::string token)
    : m_loop(loop), m_address(std::move(address)), m_token(std::move(token)) {}

Result<std::unique_ptr<FrameListener>> FrameListener::onTcp(EventLoop &loop, const std::string &address, int port,
                                                            std::string token) {
    std::string place = address.empty() ? "127.0.0.1" : address;
    if (const auto ofInterface = addressOfInterface(place))
        place = *ofInterface;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo *found = nullptr;
    if (::getaddrinfo(place.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
        return fail(Error::badArgument("'" + address + "' is neither an interface nor an address of this machine",
                                       "ip address lists them", "--interface"));
    const AddressList list(found, &::freeaddrinfo);
    Fd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), 512) != 0) {
        std::string what = "can't listen on " + place + " port " + std::to_string(port) + ": " + std::strerror(errno);
        if (const auto holder = errno == EADDRINUSE ? holderOfPort(port) : std::nullopt)
            what += " by pid " + holder->words();
        return fail(Error::badArgument(what, "choose another port or interface", "--port"));
    }
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&own), &size);
    std::unique_ptr<FrameListener> listener(
        new FrameListener(loop, "tcp://" + addressAndPort(own, size), std::move(token)));
    listener->m_tcp = std::move(fd);
    return listener;
}

Result<std::unique_ptr<FrameListener>> FrameListener::onUnix(EventLoop &loop, const std::string &path) {
    auto bound = UnixListener::bind(path);
    if (!bound)
        return fail(bound.error());
    std::unique_ptr<FrameListener> listener(new FrameListener(loop, "unix:" + path, {}));
    listener->m_unix = std::move(*bound);
    return listener;
}

FrameListener::~FrameListener() {
    m_loop.unwatch(m_listenToken);
    for (const auto &peer : m_peers) {
        m_loop.cancel(peer->helloTimer);
        m_loop.unwatch(peer->token);
    }
}

void FrameListener::open(Handlers handlers) {
    m_handlers = std::move(handlers);
    m_listenToken = m_loop.watch(m_unix ? m_unix->fd() : m_tcp.get(), EPOLLIN, [this](std::uint32_t) { acceptAll(); });
}

Result<Fd> FrameListener::acceptOne() {
    if (m_unix)
        return m_unix->accept();
    return m_acceptor.accept(m_tcp.get());
}

void FrameListener::acceptAll() {
    for (int i = 0; i < 64; ++i) {
        auto fd = acceptOne();
        if (!fd) {
            m_handlers.onRefused(fd.error().message());
            continue;
        }
        if (!fd->valid())
            return;
        admit(std::move(*fd));
    }
}

void FrameListener::admit(Fd fd) {
    auto peer = std::make_unique<Peer>();
    std::string address;
    if (m_tcp.valid()) {
        const int on = 1; // detects that a rank's machine has vanished
        ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        const int idle = 10, interval = 5, count = 3;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
        peer->from = peerAddress(fd.get());
        address = addressOfPeer(peer->from);
    }
    peer->fd = std::move(fd);
    Peer &added = *peer;
    m_peers.push_back(std::move(peer));
    added.token = m_loop.watch(added.fd.get(), EPOLLIN, [this, &added](std::uint32_t) { readPeer(added); });
    added.helloTimer = m_loop.after(helloTimeout, [this, &added] {
        refuse(added, Error::failed("no hello within 5 s", "send a hello line first"));
    });
    added.unauthenticated = m_unauthenticated.add(address, [this, &added] {
        added.unauthenticated.reset();
        refuse(added, Error::failed("too many connections have sent no hello"));
    });
    readPeer(added); // a rank has sent its hello by now, and so keeps its place however many others come
}

bool FrameListener::readPeer(Peer &peer) {
    if (peer.gone)
        return false;
    const ReadLines read = readLines(peer.fd.get(), peer.framer, [&](std::string_view line) { takeLine(peer, line); });
    if (read.kind == ReadLines::Kind::Nothing)
        return false;
    if (read.kind == ReadLines::Kind::Closed) {
        close(peer);
    } else if (read.kind == ReadLines::Kind::Endless && !peer.gone) {
        if (peer.rank)
            m_handlers.onCut(*peer.rank, read.error);
        refuse(peer, read.error);
    }
    return !peer.gone;
}

void FrameListener::takeLine(Peer &peer, std::string_view line) {
    if (peer.gone)
        return;
    if (peer.rank)
        m_handlers.onLine(*peer.rank, line);
    else
        takeHello(peer, line);
}

void FrameListener::takeHello(Peer &peer, std::string_view line) {
    const auto hello = decodeHello(line);
    if (!hello)
        return refuse(peer, hello.error());
    if (m_tcp.valid() && !sameSecret(m_token, hello->token))
        return refuse(peer, Error::failed(hello->token.empty() ? "no token was given" : "the token is wrong",
                                          "set LOCKSTEP_FRAMES_TOKEN to the one that lockstepctl listen printed"));
    if (hello->role != "rank" || !hello->rank)
        return refuse(peer, Error::failed("role '" + hello->role + "' can't connect here", "use the role rank"));
    const auto next = m_handlers.onHello(*hello->rank, *hello);
    if (!next)
        return refuse(peer, next.error());
    for (const auto &other : m_peers)
        if (other->rank == hello->rank && !other->gone)
            close(*other);
    m_loop.cancel(peer.helloTimer);
    m_unauthenticated.remove(peer.unauthenticated.value_or(0));
    peer.rank = hello->rank;
    Hello answer;
    answer.role = "agent";
    answer.node = 0;
    answer.nextSeq = *next;
    answer.live = true;
    const std::string text = encode(answer) + "\n";
    (void)::send(peer.fd.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void FrameListener::refuse(Peer &peer, const Error &why) {
    if (peer.gone)
        return;
    const std::string line = encodeProtocolError(why.message()) + "\n";
    (void)::send(peer.fd.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    m_handlers.onRefused((peer.from.empty() ? std::string("a connection") : "the connection from " + peer.from) +
                         " was refused: " + why.message());
    close(peer);
}

void FrameListener::close(Peer &peer) {
    if (peer.gone)
        return;
    peer.gone = true; // removed after the batch, since a caller may still use it
    m_unauthenticated.remove(peer.unauthenticated.value_or(0));
    m_loop.cancel(peer.helloTimer);
    m_loop.unwatch(peer.token);
    peer.fd.close();
    if (peer.rank)
        m_handlers.onGone(*peer.rank);
}

void FrameListener::sweep() {
    m_peers.remove_if([](const auto &peer) { return peer->gone; });
}

bool FrameListener::connected(int rank) const {
    return std::any_of(m_peers.begin(), m_peers.end(),
                       [&](const auto &peer) { return !peer->gone && peer->rank == rank; });
}

bool FrameListener::anyConnected() const {
    return std::any_of(m_peers.begin(), m_peers.end(), [](const auto &peer) { return !peer->gone && peer->rank; });
}

void FrameListener::drain() {
    for (const auto &peer : m_peers)
        for (int reads = 0; reads < 256 && readPeer(*peer); ++reads) {
        }
}

std::set<int> FrameListener::sendControl(const Control &control) {
    const std::string line = encode(control) + "\n";
    std::set<int> reached;
    for (const auto &peer : m_peers)
        if (!peer->gone && peer->rank &&
            ::send(peer->fd.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
                static_cast<ssize_t>(line.size()))
            reached.insert(*peer->rank);
    return reached;
}

} // namespace lockstep::agent
