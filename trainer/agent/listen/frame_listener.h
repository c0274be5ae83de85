// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ipc/messages.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/net/unauthenticated_peers.h"

namespace lockstep::agent {

/// Accepts connections of ranks that somebody else started: over TCP, where each needs the token, or on a unix socket.
/// A rank may connect late, leave and connect again; its newer connection replaces the older one. All calls on the
/// loop's thread.
class FrameListener {
public:
    struct Handlers {
        /// Returns the rseq from which the rank's process must send. An error is sent to the rank, and the connection
        /// ends.
        std::function<Result<std::uint64_t>(int rank, const Hello &hello)> onHello;
        std::function<void(int rank, std::string_view line)> onLine;
        std::function<void(int rank)> onGone;
        std::function<void(int rank, const Error &why)> onCut; ///< this side closed it: a line without end
        std::function<void(const std::string &message)> onRefused;
    };

    /// `address` is an address of this machine or the name of an interface; it listens nowhere else. Port 0: any free
    /// one.
    static Result<std::unique_ptr<FrameListener>> onTcp(EventLoop &loop, const std::string &address, int port,
                                                        std::string token);
    static Result<std::unique_ptr<FrameListener>> onUnix(EventLoop &loop, const std::string &path);
    ~FrameListener();
    FrameListener(const FrameListener &) = delete;
    FrameListener &operator=(const FrameListener &) = delete;

    void open(Handlers handlers);
    [[nodiscard]] const std::string &address() const { return m_address; } ///< tcp://HOST:PORT or unix:PATH
    [[nodiscard]] bool connected(int rank) const;
    [[nodiscard]] bool anyConnected() const;
    void drain(); ///< reads all that ranks have sent so far
    void sweep(); ///< removes closed connections; call after each batch of the loop
    std::set<int> sendControl(const Control &control);

private:
    struct Peer;
    FrameListener(EventLoop &loop, std::string address, std::string token);
    void acceptAll();
    Result<Fd> acceptOne();
    void admit(Fd fd);
    bool readPeer(Peer &peer);
    void takeLine(Peer &peer, std::string_view line);
    void takeHello(Peer &peer, std::string_view line);
    void refuse(Peer &peer, const Error &why);
    void close(Peer &peer);

    EventLoop &m_loop;
    std::string m_address, m_token;
    Fd m_tcp;
    Acceptor m_acceptor; ///< of m_tcp
    UnauthenticatedPeers m_unauthenticated;
    std::optional<UnixListener> m_unix;
    EventLoop::Token m_listenToken = 0;
    Handlers m_handlers;
    std::list<std::unique_ptr<Peer>> m_peers;
};

} // namespace lockstep::agent
