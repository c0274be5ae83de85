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

namespace lockstep::agent {

/// Takes connections of ranks that somebody else started: over TCP, each with the token, or on a unix socket of one's own.
/// A rank may come late, go, and come again; its newer connection takes the place of the older one. All calls from the
/// loop's thread.
class FrameListener {
public:
    struct Handlers {
        /// What the rank's process is to send from (its next rseq); an error is told to it, and the connection ends.
        std::function<Result<std::uint64_t>(int rank, const Hello &hello)> onHello;
        std::function<void(int rank, std::string_view line)> onLine;
        std::function<void(int rank)> onGone;
        std::function<void(int rank, const Error &why)> onCut; ///< closed by us: an endless line
        std::function<void(const std::string &message)> onRefused;
    };

    /// `address`: of this machine, or the name of an interface; nothing is listened on besides. Port 0: any free one.
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
    void sweep(); ///< forgets the connections that are gone; call after each batch of the loop
    std::set<int> sendControl(const Control &control);

private:
    struct Peer;
    FrameListener(EventLoop &loop, std::string address, std::string token);
    void acceptAll();
    Result<Fd> acceptOne();
    bool readPeer(Peer &peer);
    void takeLine(Peer &peer, std::string_view line);
    void takeHello(Peer &peer, std::string_view line);
    void refuse(Peer &peer, const Error &why);
    void close(Peer &peer);

    EventLoop &m_loop;
    std::string m_address, m_token;
    Fd m_tcp;
    std::optional<UnixListener> m_unix;
    EventLoop::Token m_listenToken = 0;
    Handlers m_handlers;
    std::list<std::unique_ptr<Peer>> m_peers;
};

} // namespace lockstep::agent
