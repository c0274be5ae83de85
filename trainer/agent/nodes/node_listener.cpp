// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/node_listener.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <random>

#include "ipc/crc32c.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::seconds nodeHelloTimeout{5};
constexpr std::size_t mostPending = 64;

bool sameSecret(std::string_view a, std::string_view b) {
    if (a.size() != b.size())
        return false;
    unsigned different = 0; // constant time, wherever they differ
    for (std::size_t i = 0; i < a.size(); ++i)
        different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    return different == 0;
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

/// A connection that has not sent a valid hello yet.
struct NodeListener::PendingConnection {
    std::shared_ptr<LineSocket> socket;
    EventLoop::Token timer = 0;
    bool gone = false;
};

Result<std::unique_ptr<NodeListener>> NodeListener::open(EventLoop &loop, const Clock &clock, Options options) {
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
    m_sweepTimer =
        m_loop.every(oneSecond, [this] { m_pending.remove_if([](const auto &pending) { return pending->gone; }); });
}

void NodeListener::accept() {
    for (int i = 0; i < 16; ++i) {
        Fd fd(::accept4(m_port.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd.valid())
            return;
        if (m_pending.size() >= mostPending)
            continue; // no agent opens so many; close it at once
        auto pending = std::make_unique<PendingConnection>();
        PendingConnection *raw = pending.get();
        raw->socket = LineSocket::open(m_loop, m_clock, std::move(fd),
                                       {[this, raw](std::string_view line) { onHello(*raw, line); },
                                        [this, raw](const std::string &) {
                                            m_loop.cancel(raw->timer);
                                            raw->gone = true;
                                        },
                                        {}});
        raw->timer = m_loop.after(nodeHelloTimeout, [this, raw] {
            refuse(*raw, Error::failed("no hello within 5 s", "send a hello line first"));
        });
        m_pending.push_back(std::move(pending));
    }
}

Result<Hello> NodeListener::checkHello(std::string_view line) const {
    auto hello = decodeHello(line);
    if (!hello)
        return hello;
    if (hello->role != "agent" || !sameSecret(hello->token, m_options.token))
        return fail(Error::failed("its token is wrong", "take the one that agent 0 answered for this run"));
    if (hello->run != m_options.runId)
        return fail(Error::failed("it is of run " + hello->run + ", this is run " + m_options.runId));
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
    m_loop.cancel(pending.timer);
    pending.gone = true;
    m_handlers.onNode(*hello->node, *hello, std::move(pending.socket));
}

void NodeListener::refuse(PendingConnection &pending, const Error &why) {
    if (pending.gone)
        return;
    m_loop.cancel(pending.timer);
    m_handlers.onRefused(pending.socket->peer() + " was refused as a node of this run: " + why.message());
    pending.socket->send(encodeProtocolError(why.message()) + "\n");
    pending.socket->close();
    pending.gone = true;
}

} // namespace lockstep::agent
