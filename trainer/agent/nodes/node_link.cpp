// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/node_link.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ipc/logging.h"
#include "trainer/agent/net/secrets.h"

namespace lockstep::agent {

namespace {
using What = NodeMessage::What;
constexpr std::chrono::milliseconds firstBackoff{250}, lastBackoff{5000}, connectLimit{3000},
    nodeLinkCheckInterval{250}, nameCheckInterval{20};
constexpr std::size_t bytesATurn = 256 * 1024;

std::chrono::milliseconds since(const Clock &clock, std::int64_t ns) {
    if (ns == 0)
        return std::chrono::milliseconds(0);
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(clock.monoNs() - ns));
}

/// Of a connect() or socket(): there is no way from here to that address, whoever listens there.
bool isOutOfReach(int error) {
    return error == EAFNOSUPPORT || error == ENETUNREACH || error == EHOSTUNREACH || error == EADDRNOTAVAIL;
}

} // namespace

NodeLink::NodeLink(EventLoop &loop, const Clock &clock, const RunJournal &journal, Options options)
    : m_loop(loop), m_clock(clock), m_journal(journal), m_options(std::move(options)), m_agent(makeToken()),
      m_lookup(m_options.address, m_options.lookUp), m_backoff(firstBackoff) {}

NodeLink::~NodeLink() {
    close();
}

void NodeLink::close() {
    m_closed = true;
    m_loop.cancel(m_timer);
    m_loop.cancel(m_checkTimer);
    m_loop.unwatch(m_connectToken);
    m_connecting.close();
    if (m_socket)
        m_socket->close();
    m_socket.reset();
    m_up = false;
}

void NodeLink::start(Handlers handlers) {
    m_handlers = std::move(handlers);
    m_lostNs = m_clock.monoNs();
    m_checkTimer = m_loop.every(nodeLinkCheckInterval, [this] { checkLink(); });
    connect();
}

void NodeLink::connect() {
    if (!knowsAddresses())
        return;
    m_tried = 0;
    m_allRefused = true;
    m_anyTried = false;
    tryAddress();
}

bool NodeLink::knowsAddresses() {
    if (m_joined)
        return true;
    auto found = m_lookup.take(std::chrono::steady_clock::now());
    if (!found) {
        m_lastFailure = "no name server has answered yet";
        m_timer = m_loop.after(nameCheckInterval, [this] { connect(); });
        return false;
    }
    if (!*found) {
        giveUpRound(found->error().message(), false);
        return false;
    }
    m_addresses = std::move(**found);
    m_at = 0;
    return true;
}

void NodeLink::tryAddress() {
    const NetAddress &address = m_addresses[m_at];
    m_connecting = Fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!m_connecting.valid() ||
        (::connect(m_connecting.get(), address.get(), address.length) != 0 && errno != EINPROGRESS))
        return failed(errno);
    m_connectToken = m_loop.watch(m_connecting.get(), EPOLLOUT, [this](std::uint32_t events) { connected(events); });
    m_timer = m_loop.after(connectLimit, [this] { failed(ETIMEDOUT); });
}

void NodeLink::connected(std::uint32_t) {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(m_connecting.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0)
        return failed(error);
    m_loop.unwatch(m_connectToken);
    m_loop.cancel(m_timer);
    m_refusedNs = 0;
    greet(std::move(m_connecting));
}

void NodeLink::failed(int error) {
    m_loop.unwatch(m_connectToken);
    m_loop.cancel(m_timer);
    m_connecting.close();
    // An address of a network that this node has no way to says nothing of agent 0.
    const bool tried = !isOutOfReach(error);
    if (tried || !m_anyTried)
        m_why = error == ETIMEDOUT ? "no answer within 3 s" : std::strerror(error);
    m_allRefused = m_allRefused && (!tried || error == ECONNREFUSED);
    m_anyTried = m_anyTried || tried;
    if (++m_tried >= m_addresses.size())
        return giveUpRound(m_why, m_anyTried && m_allRefused);
    m_at = (m_at + 1) % m_addresses.size();
    tryAddress();
}

void NodeLink::giveUpRound(const std::string &why, bool refused) {
    m_lastFailure = why;
    if (!refused)
        m_refusedNs = 0;
    else if (m_refusedNs == 0)
        m_refusedNs = m_clock.monoNs();
    retry();
}

void NodeLink::retry() {
    if (m_closed)
        return;
    m_loop.cancel(m_timer);
    m_timer = m_loop.after(m_backoff, [this] { connect(); });
    m_backoff = std::min(2 * m_backoff, lastBackoff);
}

void NodeLink::greet(Fd fd) {
    m_greeted = false;
    auto tls = std::make_unique<TlsSession>(TlsSession::Side::Client, m_options.runId, m_options.token);
    if (!tls->usable())
        return distrust(TlsSession::whyUnusable());
    m_socket = LineSocket::open(m_loop, m_clock, std::move(fd),
                                {[this](std::string_view line) { takeLine(line); },
                                 [this](const std::string &why) { lose(why); }, [this] { pump(); },
                                 [this](const Error &why) { distrust(why); }},
                                std::move(tls));
    Hello hello;
    hello.role = "agent";
    hello.run = m_options.runId;
    hello.node = m_options.node;
    hello.name = m_options.host;
    hello.nextSeq = m_journal.nextSeq();
    hello.agent = m_agent;
    hello.ranksStarted = m_ranksStarted;
    m_socket->send(encode(hello) + "\n");
}

void NodeLink::takeLine(std::string_view line) {
    if (!m_greeted)
        return takeHello(line);
    const auto message = decodeNodeMessage(line);
    if (!message)
        return lose(message.error().message());
    if (message->what == What::Ping) {
        NodeMessage pong;
        pong.what = What::Pong;
        pong.number = message->number;
        pong.wallUs = m_clock.wallUs();
        pong.monoNs = m_clock.monoNs();
        m_socket->send(encode(pong) + "\n");
    } else if (message->what == What::Ack) {
        m_acked = std::max(m_acked, message->nextSeq.value_or(0));
    } else if (message->what == What::TraceKept) {
        m_traces.kept(*message);
    } else {
        m_handlers.onOrder(*message);
    }
}

void NodeLink::takeHello(std::string_view line) {
    const auto hello = decodeHello(line);
    if (!hello)
        return distrust(hello.error());
    if (!hello->refused.empty())
        return end(Error::failed(hello->refused));
    m_greeted = m_up = true;
    m_lostNs = 0;
    m_backoff = firstBackoff;
    m_position = {};
    m_position.nextSeq = hello->nextSeq;
    const auto socket = m_socket; // a handler may drop m_socket
    socket->send(encode(m_options.join) + "\n");
    m_traces.startOver();
    m_overDue = true;
    for (const NodeMessage &message : m_kept)
        if (message.what != What::Over)
            socket->send(encode(message) + "\n");
    if (!m_joined) {
        m_addresses = {m_addresses[m_at]};
        m_at = 0;
    }
    if (std::exchange(m_joined, true))
        m_handlers.onBack();
    else
        m_handlers.onJoined();
    pump();
}

void NodeLink::distrust(const Error &why) {
    if (m_joined)
        return lose(why.message());
    end(why);
}

void NodeLink::end(const Error &why) {
    close();
    m_handlers.onRefused(why);
}

void NodeLink::lose(const std::string &why) {
    if (m_socket)
        m_socket->close();
    m_socket.reset();
    m_lastFailure = why;
    if (std::exchange(m_up, false)) {
        m_lostNs = m_clock.monoNs();
        m_handlers.onLost(why);
    }
    retry();
}

void NodeLink::checkLink() {
    const std::int64_t before = m_clock.monoNs() - std::chrono::nanoseconds(silence).count();
    if (m_socket && m_socket->lastHeardNs() < before)
        lose("nothing was heard for " + std::to_string(silence.count()) + " s");
}

void NodeLink::pump() {
    std::string lines;
    while (m_up && m_socket && m_socket->room()) {
        lines.clear();
        m_journal.read(m_position, lines, bytesATurn);
        if (lines.empty())
            lines = afterLog();
        if (lines.empty())
            return;
        m_socket->send(lines);
    }
}

/// The next piece of a trace, then the report of the end: at the pace at which agent 0 takes them.
std::string NodeLink::afterLog() {
    if (const auto piece = m_traces.next())
        return encode(*piece) + "\n";
    const bool due = std::exchange(m_overDue, false);
    const auto over = std::ranges::find(m_kept, What::Over, &NodeMessage::what);
    return due && over != m_kept.end() ? encode(*over) + "\n" : std::string();
}

void NodeLink::say(const NodeMessage &message) {
    if (message.what == What::Over || message.what == What::Failed || message.what == What::Gone)
        m_kept.push_back(message);
    if (!m_up)
        return;
    m_overDue = m_overDue || message.what == What::Over;
    pump(); // send the log lines that were written before this message
    if (m_socket && message.what != What::Over)
        m_socket->send(encode(message) + "\n");
}

std::chrono::milliseconds NodeLink::lostFor() const {
    return since(m_clock, m_lostNs);
}

std::chrono::milliseconds NodeLink::refusedFor() const {
    return since(m_clock, m_refusedNs);
}

} // namespace lockstep::agent
