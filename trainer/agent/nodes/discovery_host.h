// SPDX-License-Identifier: MIT
#pragma once
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/clock.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/net/line_socket.h"
#include "trainer/agent/net/unauthenticated_peers.h"
#include "trainer/agent/nodes/discovery_file.h"
#include "trainer/agent/ranks/launch_plan.h"
#include "trainer/agent/ranks/master_port.h"

namespace lockstep::agent {

/// Node 0's side of interface discovery: listens at every address of its node until all other nodes have reported
/// which ones they reach, then decides. Its file exists as long as this object.
class DiscoveryHost {
public:
    explicit DiscoveryHost(const CommandOptions &options); ///< `options` outlives it
    ~DiscoveryHost();
    DiscoveryHost(const DiscoveryHost &) = delete;
    DiscoveryHost &operator=(const DiscoveryHost &) = delete;

    /// Returns every node's interface, node 0's first. Waits at most joinLimitS; a signal ends it with an error.
    /// Blocks; call once.
    Result<std::vector<std::string>> run();
    [[nodiscard]] const std::string &sentence() const { return m_sentence; } ///< what was found, for people

private:
    struct Reached { ///< what another node has reported
        std::string host;
        std::vector<int> offers;
        std::vector<std::string> by; ///< its own interface, for each offer
        std::shared_ptr<LineSocket> socket;
    };
    /// A connection, and whether it has shown that it is one of an agent of this run.
    struct Caller {
        std::shared_ptr<LineSocket> socket;
        EventLoop::Token timer = 0;
        UnauthenticatedPeers::Id place = 0; ///< 0: it has shown it
    };
    Result<void> listen();
    void accept(int listener, std::size_t offer);
    void onLine(Caller &caller, std::size_t offer, std::string_view line);
    void drop(Caller &caller);
    void onReached(const std::shared_ptr<LineSocket> &socket, const DiscoveryJson &json);
    void decide();
    void fail(Error why);
    void answerAll(const DiscoveryJson &answer);
    [[nodiscard]] std::string absent() const;
    [[nodiscard]] std::string whoReachesWhat() const;

    const CommandOptions &m_options;
    Invitation m_invitation;
    std::string m_sentence;
    SystemClock m_clock;
    EventLoop m_loop;
    std::vector<MasterPort> m_ports;
    std::map<int, Acceptor> m_acceptors; ///< by listener
    UnauthenticatedPeers m_unauthenticated;
    std::list<std::unique_ptr<Caller>> m_callers;
    std::map<int, Reached> m_reached;
    std::vector<std::string> m_interfaces;
    std::optional<Error> m_error;
};

/// The first of `count` offers that all nodes have reached; -1 if there is none.
[[nodiscard]] int commonOffer(int count, const std::vector<std::vector<int>> &reached);

} // namespace lockstep::agent
