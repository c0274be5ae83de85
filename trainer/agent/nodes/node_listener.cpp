// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/node_listener.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "trainer/agent/net/peer_tcp_state.h"
#include "trainer/agent/net/secrets.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::seconds nodeHelloTimeout{5};
} // namespace

/// A connection that has not sent a valid hello yet.
struct NodeListener::PendingConnection {
    std::shared_ptr<LineSocket> socket;
    EventLoop::Token timer = 0;
    UnauthenticatedPeers::Id place = 0;
    bool gone = false;
};

Result<std::unique_ptr<NodeListener>> NodeListener::open(EventLoop &loop, const Clock &clock, Options options) {
    if (!TlsSession(TlsSession::Side::Server, options.runId, options.token).usable())
        return fail(TlsSession::whyUnusable());
    auto port = bindMasterPort(options.address, options.port);
    if (!port)
        return fail(port.error());
    ::fcntl(port->listener.get(), F_SETFL, ::fcntl(port->listener.get(), F_GETFL) | O_NONBLOCK);
    return std::unique_ptr<NodeListener>(new NodeListener(loop, clock, std::move(options), std::move(*port)));
}

NodeListener::NodeListener(EventLoop &loop, const Clock &clock, Options options, MasterPort port)
    : m_loop(loop), m_clock(clock), m_options(std::move(options)), m_port(std::move(port)) {
    if (m_options.token.empty())
        m_options.token = makeToken();
    const std::string &host = m_options.announce.empty() ? m_port.address : m_options.announce;
    m_address = (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(m_port.port);
}

NodeListener::~NodeListener() {
    m_loop.cancel(m_sweepTimer);
    m_loop.unwatch(m_listenToken);
    for (auto &pending : m_pending)
        m_loop.cancel(pending->timer);
}

void NodeListener::start(Handlers handlers) {
    m_handlers = std::move(handlers);
    m_listenToken = m_loop.watch(m_port.listener.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
}

void NodeListener::accept() {
    for (int i = 0; i < 16; ++i) {
        auto fd = m_acceptor.accept(m_port.listener.get());
        if (!fd)
            continue; // dropped, since descriptors have run out
        if (!fd->valid())
            return;
        auto pending = std::make_unique<PendingConnection>();
        PendingConnection *raw = pending.get();
        raw->socket =
            LineSocket::open(m_loop, m_clock, std::move(*fd),
                             {[this, raw](std::string_view line) { onHello(*raw, line); },
                              [this, raw](const std::string &) { forget(*raw); },
                              {},
                              [this, raw](const Error &why) { refuse(*raw, why); }},
                             std::make_unique<TlsSession>(TlsSession::Side::Server, m_options.runId, m_options.token));
        raw->timer = m_loop.after(nodeHelloTimeout, [this, raw] {
            refuse(*raw, Error::failed("no hello within 5 s", "send a hello line first"));
        });
        raw->place = m_places.add(addressOfPeer(raw->socket->peer()), [this, raw] {
            raw->place = 0;
            refuse(*raw, Error::failed("too many connections have sent no hello"));
        });
        m_pending.push_back(std::move(pending));
    }
}

Result<Hello> NodeListener::checkHello(std::string_view line) const {
    auto hello = decodeHello(line);
    if (!hello)
        return hello;
    if (hello->role != "agent" || hello->run != m_options.runId)
        return fail(Error::failed("it is no agent of run " + m_options.runId));
    const int number = hello->node.value_or(0);
    if (number < 1 || number > m_options.otherNodes)
        return fail(Error::failed("node " + std::to_string(number) + " is not one of this run's " +
                                  std::to_string(m_options.otherNodes + 1) + " nodes"));
    return hello;
}

void NodeListener::onHello(PendingConnection &pending, std::string_view line) {
    if (pending.gone)
        return;
    const auto hello = checkHello(line);
    if (!hello)
        return refuse(pending, hello.error());
    forget(pending);
    m_handlers.onNode(*hello->node, *hello, std::move(pending.socket));
}

void NodeListener::refuse(PendingConnection &pending, const Error &why) {
    if (pending.gone)
        return;
    forget(pending);
    m_handlers.onRefused(pending.socket->peer() + refusedAsNode + why.message());
    pending.socket->send(encodeProtocolError(why.message()) + "\n");
    pending.socket->close();
}

/// It is a node's now, or has gone.
void NodeListener::forget(PendingConnection &pending) {
    m_loop.cancel(pending.timer);
    m_places.remove(pending.place);
    pending.gone = true;
    if (m_sweepTimer == 0) // a caller may still use it; a second later there may be thousands
        m_sweepTimer = m_loop.after(std::chrono::milliseconds(0), [this] {
            m_sweepTimer = 0;
            m_pending.remove_if([](const auto &each) { return each->gone; });
        });
}

} // namespace lockstep::agent
