// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ipc/clock.h"
#include "ipc/line_framer.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/net/tls_session.h"

namespace lockstep::agent {

/// A connected stream socket that carries lines in both directions, on the agent's loop, encrypted if it has a TlsSession. Handlers may
/// close it or drop the last reference to it. After close(), onClosed or onUntrusted, no handler is called any more.
class LineSocket : public std::enable_shared_from_this<LineSocket> {
public:
    struct Handlers {
        std::function<void(std::string_view line)> onLine;
        std::function<void(const std::string &why)> onClosed;   ///< by the peer, or a line too long; not by close()
        std::function<void()> onRoom;                           ///< room() is true again; may be empty
        std::function<void(const Error &why)> onUntrusted = {}; ///< instead of onClosed: the TLS handshake failed
    };
    /// A peer for which more than this waits does not read: it is lost (onClosed, soon after the send).
    static constexpr std::size_t mostWaitingBytes = 8 * 1024 * 1024;
    static std::shared_ptr<LineSocket> open(EventLoop &loop, const Clock &clock, Fd fd, Handlers handlers,
                                            std::unique_ptr<TlsSession> tls = nullptr);
    ~LineSocket();

    void setHandlers(Handlers handlers) { m_handlers = std::move(handlers); }
    /// Whole lines with their newlines. What the kernel does not accept yet waits in memory.
    void send(std::string_view lines);
    [[nodiscard]] bool room() const { return waitingBytes() < 256 * 1024; }
    void close();
    [[nodiscard]] bool open() const { return m_fd.valid(); }
    [[nodiscard]] int descriptor() const { return m_fd.get(); }              ///< -1 once closed
    [[nodiscard]] std::int64_t lastHeardNs() const { return m_lastHeardNs; } ///< CLOCK_MONOTONIC
    [[nodiscard]] const std::string &peer() const { return m_peer; }         ///< "10.0.0.2:51234"

private:
    LineSocket(EventLoop &loop, const Clock &clock, Fd fd, Handlers handlers, std::unique_ptr<TlsSession> tls);
    void onEvent(std::uint32_t events);
    void read();
    void takeLines(std::string_view bytes);
    void sendWhatTlsSays();
    void flush();
    [[nodiscard]] std::size_t waitingBytes() const { return m_out.size() - m_sent; }
    void giveUp();
    void lose(const std::string &why);

    EventLoop &m_loop;
    const Clock &m_clock;
    Fd m_fd;
    Handlers m_handlers;
    std::unique_ptr<TlsSession> m_tls; ///< null: nothing is encrypted
    LineFramer m_framer;
    EventLoop::Token m_token = 0;
    std::string m_out, m_peer;
    std::size_t m_sent = 0;
    bool m_givenUp = false;
    std::int64_t m_lastHeardNs;
};

/// "10.0.0.2:51234" or "[fe80::1]:51234" of a connected socket's other end; empty when unknown.
[[nodiscard]] std::string peerAddress(int fd);

} // namespace lockstep::agent
