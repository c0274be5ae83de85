// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/node_door.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "trainer/agent/net/peer_sight.h"
#include "trainer/agent/net/secrets.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::seconds nodeHelloTimeout{5};
} // namespace

/// A connection that has not sent a valid hello yet.
struct NodeDoor::Stranger {
    std::shared_ptr<LineSocket> socket;
    EventLoop::Token timer = 0;
    Strangers::Id place = 0;
    bool gone = false;
};

Result<std::unique_ptr<NodeDoor>> NodeDoor::open(EventLoop &loop, const Clock &clock, Options options) {
    auto port = bindMasterPort(options.address, options.port);
    if (!port)
        return fail(port.error());
    ::fcntl(port->listener.get(), F_SETFL, ::fcntl(port->listener.get(), F_GETFL) | O_NONBLOCK);
    return std::unique_ptr<NodeDoor>(new NodeDoor(loop, clock, std::move(options), std::move(*port)));
}

NodeDoor::NodeDoor(EventLoop &loop, const Clock &clock, Options options, MasterPort port)
    : m_loop(loop), m_clock(clock), m_options(std::move(options)), m_port(std::move(port)) {
    if (m_options.token.empty())
        m_options.token = makeToken();
    const std::string &host = m_options.announce.empty() ? m_port.address : m_options.announce;
    m_address = (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(m_port.port);
}

NodeDoor::~NodeDoor() {
    m_loop.cancel(m_sweepTimer);
    m_loop.unwatch(m_listenToken);
    for (auto &stranger : m_strangers)
        m_loop.cancel(stranger->timer);
}

void NodeDoor::start(Handlers handlers) {
    m_handlers = std::move(handlers);
    m_listenToken = m_loop.watch(m_port.listener.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
    m_sweepTimer =
        m_loop.every(oneSecond, [this] { m_strangers.remove_if([](const auto &stranger) { return stranger->gone; }); });
}

void NodeDoor::accept() {
    for (int i = 0; i < 16; ++i) {
        auto fd = m_acceptor.accept(m_port.listener.get());
        if (!fd)
            continue; // dropped, since descriptors have run out
        if (!fd->valid())
            return;
        auto stranger = std::make_unique<Stranger>();
        Stranger *raw = stranger.get();
        raw->socket = LineSocket::open(m_loop, m_clock, std::move(*fd),
                                       {[this, raw](std::string_view line) { onHello(*raw, line); },
                                        [this, raw](const std::string &) { forget(*raw); },
                                        {}});
        raw->timer = m_loop.after(nodeHelloTimeout, [this, raw] {
            refuse(*raw, Error::failed("no hello within 5 s", "send a hello line first"));
        });
        raw->place = m_places.add(addressOfPeer(raw->socket->peer()), [this, raw] {
            raw->place = 0;
            refuse(*raw, Error::failed("too many connections have sent no hello"));
        });
        m_strangers.push_back(std::move(stranger));
    }
}

Result<Hello> NodeDoor::checkHello(std::string_view line) const {
    auto hello = decodeHello(line);
    if (!hello)
        return hello;
    if (hello->role != "agent" || !sameSecret(m_options.token, hello->token))
        return fail(Error::failed("its token is wrong", "take the one that agent 0 answered for this run"));
    if (hello->run != m_options.runId)
        return fail(Error::failed("it is of run " + hello->run + ", this is run " + m_options.runId));
    const int number = hello->node.value_or(0);
    if (number < 1 || number > m_options.otherNodes)
        return fail(Error::failed("node " + std::to_string(number) + " is not one of this run's " +
                                  std::to_string(m_options.otherNodes + 1) + " nodes"));
    return hello;
}

void NodeDoor::onHello(Stranger &stranger, std::string_view line) {
    if (stranger.gone)
        return;
    const auto hello = checkHello(line);
    if (!hello)
        return refuse(stranger, hello.error());
    forget(stranger);
    m_handlers.onNode(*hello->node, *hello, std::move(stranger.socket));
}

void NodeDoor::refuse(Stranger &stranger, const Error &why) {
    if (stranger.gone)
        return;
    forget(stranger);
    m_handlers.onRefused(stranger.socket->peer() + " was refused as a node of this run: " + why.message());
    stranger.socket->send(encodeProtocolError(why.message()) + "\n");
    stranger.socket->close();
}

/// It is a node's now, or has gone.
void NodeDoor::forget(Stranger &stranger) {
    m_loop.cancel(stranger.timer);
    m_places.remove(stranger.place);
    stranger.gone = true;
}

} // namespace lockstep::agent
