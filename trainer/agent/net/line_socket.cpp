// SPDX-License-Identifier: MIT
#include "trainer/agent/net/line_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trainer/agent/net/net_talk.h"

namespace lockstep::agent {

std::string peerAddress(int fd) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr *>(&address), &length) != 0)
        return {};
    return addressAndPort(address, length);
}

std::shared_ptr<LineSocket> LineSocket::open(EventLoop &loop, const Clock &clock, Fd fd, Handlers handlers,
                                             std::unique_ptr<TlsSession> tls) {
    return std::shared_ptr<LineSocket>(new LineSocket(loop, clock, std::move(fd), std::move(handlers), std::move(tls)));
}

LineSocket::LineSocket(EventLoop &loop, const Clock &clock, Fd fd, Handlers handlers, std::unique_ptr<TlsSession> tls)
    : m_loop(loop), m_clock(clock), m_fd(std::move(fd)), m_handlers(std::move(handlers)), m_tls(std::move(tls)),
      m_peer(peerAddress(m_fd.get())), m_lastHeardNs(clock.monoNs()) {
    const int one = 1; // send small messages at once: a stop must not wait for a full segment
    ::setsockopt(m_fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    m_token = m_loop.watch(m_fd.get(), EPOLLIN, [this](std::uint32_t events) { onEvent(events); });
    sendWhatTlsSays();
}

LineSocket::~LineSocket() {
    close();
}

void LineSocket::close() {
    m_loop.unwatch(m_token);
    m_fd.close();
}

void LineSocket::onEvent(std::uint32_t events) {
    const auto self = shared_from_this(); // a handler may drop the last reference
    if (events & EPOLLOUT) {
        const bool wasFull = !room();
        flush();
        if (wasFull && room() && m_handlers.onRoom)
            m_handlers.onRoom();
    }
    if (open() && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        read();
}

void LineSocket::read() {
    std::array<char, 65536> buffer;
    const ssize_t n = ::recv(m_fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        return lose(n == 0 ? "the other side closed it" : std::strerror(errno));
    m_lastHeardNs = m_clock.monoNs();
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
    if (!m_tls)
        return takeLines(bytes);
    std::string plain;
    const bool trusted = m_tls->established();
    const Result<void> decrypted = m_tls->receive(bytes, plain);
    sendWhatTlsSays();
    takeLines(plain);
    if (decrypted || !open())
        return;
    if (trusted || !m_handlers.onUntrusted)
        return lose(decrypted.error().message());
    close();
    const auto onUntrusted = m_handlers.onUntrusted;
    onUntrusted(decrypted.error());
}

/// Encrypted lines, the handshake's next message, or why there is none.
void LineSocket::sendWhatTlsSays() {
    const std::size_t before = m_out.size();
    if (m_tls)
        m_tls->takeOutgoing(m_out);
    if (m_out.size() > before)
        flush();
}

void LineSocket::takeLines(std::string_view bytes) {
    const auto fed = m_framer.feed(bytes, [this](std::string_view line) {
        const auto onLine = m_handlers.onLine; // the handler may replace m_handlers
        if (open())
            onLine(line);
    });
    if (!fed && open())
        lose(fed.error().message());
}

void LineSocket::send(std::string_view lines) {
    if (!open() || m_givenUp)
        return;
    if (m_tls) {
        m_tls->send(lines);
        return sendWhatTlsSays();
    }
    m_out.append(lines);
    flush();
}

void LineSocket::flush() {
    while (m_sent < m_out.size()) {
        const ssize_t n = ::send(m_fd.get(), m_out.data() + m_sent, m_out.size() - m_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break; // full, or broken: the next read reports it
        m_sent += static_cast<std::size_t>(n);
    }
    if (m_sent == m_out.size()) {
        m_out.clear();
        m_sent = 0;
    } else if (m_sent > 1024 * 1024) {
        m_out.erase(0, m_sent);
        m_sent = 0;
    }
    m_loop.change(m_token, m_out.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
    if (waitingBytes() > mostWaitingBytes)
        giveUp();
}

/// Not at once: who sends does not expect the socket to be lost meanwhile.
void LineSocket::giveUp() {
    if (std::exchange(m_givenUp, true))
        return;
    m_loop.after(std::chrono::milliseconds(0), [weak = weak_from_this()] {
        if (const auto self = weak.lock(); self && self->open())
            self->lose("the other side does not read: more than " + std::to_string(mostWaitingBytes >> 20) +
                       " MiB wait for it");
    });
}

void LineSocket::lose(const std::string &why) {
    close();
    const auto onClosed = m_handlers.onClosed;
    onClosed(why);
}

} // namespace lockstep::agent
