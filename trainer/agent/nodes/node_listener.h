// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "ipc/clock.h"
#include "ipc/messages.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/net/line_socket.h"
#include "trainer/agent/net/unauthenticated_peers.h"
#include "trainer/agent/ranks/master_port.h"

namespace lockstep::agent {

/// Between the address of a peer and why it was refused, in the sentence that reports it.
inline constexpr char refusedAsNode[] = " was refused as a node of this run: ";

/// Where node 0 of a run listens for the agents of the other nodes. A connection that is encrypted by the run's token, and whose hello
/// has the run's id and a node's number, is passed to onNode; any other is refused and closed. All calls on the loop's thread.
class NodeListener {
public:
    struct Options {
        std::string address;  ///< to listen on
        int port = 0;         ///< 0: any free port
        std::string announce; ///< the address that the other nodes are given; empty: `address`
        std::string token;    ///< empty: a new token is made
        std::string runId;
        int otherNodes = 1;
    };
    struct Handlers {
        std::function<void(int node, const Hello &hello, std::shared_ptr<LineSocket> socket)> onNode;
        std::function<void(std::string message)> onRefused;
    };
    static Result<std::unique_ptr<NodeListener>> open(EventLoop &loop, const Clock &clock, Options options);
    ~NodeListener();
    NodeListener(const NodeListener &) = delete;
    NodeListener &operator=(const NodeListener &) = delete;
    void start(Handlers handlers);

    [[nodiscard]] const std::string &address() const { return m_address; } ///< "HOST:PORT" to connect to
    [[nodiscard]] const std::string &token() const { return m_options.token; }

private:
    struct PendingConnection;
    NodeListener(EventLoop &loop, const Clock &clock, Options options, MasterPort port);
    void accept();
    void onHello(PendingConnection &pending, std::string_view line);
    [[nodiscard]] Result<Hello> checkHello(std::string_view line) const;
    void refuse(PendingConnection &pending, const Error &why);
    void forget(PendingConnection &pending);

    EventLoop &m_loop;
    const Clock &m_clock;
    Options m_options;
    MasterPort m_port;
    Acceptor m_acceptor;
    UnauthenticatedPeers m_places;
    std::string m_address;
    Handlers m_handlers;
    EventLoop::Token m_listenToken = 0, m_sweepTimer = 0;
    std::list<std::unique_ptr<PendingConnection>> m_pending;
};

} // namespace lockstep::agent
