// SPDX-License-Identifier: MIT
// Who does not belong to a run and connects to its agents all the same.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/agent/agent_process.h"
#include "tests/agent/dripping_stranger.h"
#include "tests/agent/nodes_run.h"
#include "trainer/agent/net/net_talk.h"
#include "trainer/agent/net/unauthenticated_peers.h"
#include "trainer/agent/nodes/discovery_guest.h"
#include "trainer/agent/nodes/discovery_host.h"
#include "trainer/agent/ranks/master_port.h"
#include "trainer/agent/ranks/rank_process.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace {

Fd connectTo(const std::string &address, int port) {
    const auto place = netAddress(address, port);
    REQUIRE(place);
    Fd fd(::socket(place->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(fd.get(), place->get(), place->length) == 0);
    return fd;
}

Fd connectTo(const std::string &hostAndPort) {
    const auto colon = hostAndPort.rfind(':');
    return connectTo(hostAndPort.substr(0, colon), std::stoi(hostAndPort.substr(colon + 1)));
}

/// What the other side says to a line; empty if it closes the connection without a word.
std::string answerTo(int fd, const DiscoveryJson &line) {
    REQUIRE(writeAll(fd, encodeDiscoveryLine(line)));
    return readNetLine(fd, std::chrono::steady_clock::now() + lockstep::test::hangLimit, 65536).value_or(std::string());
}

/// Uses up this process's descriptors.
class NoDescriptors {
public:
    NoDescriptors() {
        for (int fd = ::dup(0); fd >= 0; fd = ::dup(0))
            m_all.emplace_back(fd);
    }

private:
    std::vector<Fd> m_all;
};

/// What ends an agent stays pending for this thread, as in an agent; what still is at the end is forgotten.
class EndingSignalsBlocked {
public:
    EndingSignalsBlocked() { ::pthread_sigmask(SIG_BLOCK, &m_signals, &m_before); }
    ~EndingSignalsBlocked() {
        const timespec now{};
        while (::sigtimedwait(&m_signals, nullptr, &now) > 0) {
        }
        ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
    }
    EndingSignalsBlocked(const EndingSignalsBlocked &) = delete;
    EndingSignalsBlocked &operator=(const EndingSignalsBlocked &) = delete;

private:
    const sigset_t m_signals = endingSignals();
    sigset_t m_before{};
};

/// Node 1 looks for node 0 where a stranger listens.
Result<std::vector<std::string>> joinAt(const DrippingStranger &stranger, double joinLimitS) {
    CommandOptions options;
    options.runId = makeRunId();
    options.nodes = 2;
    options.nodeRank = 1;
    options.joinLimitS = joinLimitS;
    return joinDiscovery(options, {"token", {{"lo", "127.0.0.1", "knock", "proof", stranger.port()}}});
}

} // namespace

TEST_CASE("unauthenticated peers have a bounded number of places, and the address with most of them makes way") {
    UnauthenticatedPeers peers;
    std::vector<std::string> gone;
    const auto come = [&](const std::string &from, const std::string &name) {
        return peers.add(from, [&gone, name] { gone.push_back(name); });
    };
    for (std::size_t i = 0; i < UnauthenticatedPeers::mostOfOneAddress; ++i)
        (void)come("10.0.0.1", "a" + std::to_string(i));
    CHECK(gone.empty());
    (void)come("10.0.0.1", "late");
    CHECK(gone == std::vector<std::string>{"a0"}); // its own oldest
    const auto friendly = come("10.0.0.2", "b");
    for (std::size_t i = 0; peers.count() < UnauthenticatedPeers::most; ++i)
        (void)come("10.0.1." + std::to_string(i), "c");
    (void)come("10.0.0.3", "d");
    CHECK(gone == std::vector<std::string>{"a0", "a1"}); // not one of those who hold one place each
    peers.remove(friendly);
    CHECK(peers.count() == UnauthenticatedPeers::most - 1);
}

TEST_CASE("a listener without descriptors drops the connection that waits, and does not spin on it") {
    rlimit few{64, 64}, before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    few.rlim_max = before.rlim_max;
    const auto port = bindMasterPort("127.0.0.1", 0);
    REQUIRE(port);
    const int listener = port->listener.get();
    ::fcntl(listener, F_SETFL, O_NONBLOCK);
    Acceptor acceptor;
    const Fd client = connectTo("127.0.0.1", port->port);
    ::setrlimit(RLIMIT_NOFILE, &few);
    {
        const NoDescriptors full;
        pollfd waits{listener, POLLIN, 0};
        CHECK(::poll(&waits, 1, 10'000) == 1);
        CHECK_FALSE(acceptor.accept(listener));
        CHECK(::poll(&waits, 1, 0) == 0); // nothing is reported any more
        const auto nobody = acceptor.accept(listener);
        REQUIRE(nobody);
        CHECK_FALSE(nobody->valid());
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    const Fd second = connectTo("127.0.0.1", port->port);
    const auto accepted = acceptor.accept(listener);
    REQUIRE(accepted);
    CHECK(accepted->valid());
}

TEST_CASE("discovery answers nobody who does not know what its file holds") {
    const TestHome home;
    CommandOptions options;
    options.runId = makeRunId();
    options.nodes = 2;
    options.nodeRank = 0;
    options.joinLimitS = 60;
    DiscoveryHost host(options);
    Result<std::vector<std::string>> interfaces;
    std::thread discovery([&] { interfaces = host.run(); });
    std::optional<Invitation> invitation;
    REQUIRE(eventually([&] { return (invitation = readInvitation(options.runId)).has_value(); }));
    REQUIRE(!invitation->offers.empty());
    const InterfaceOffer &offer = invitation->offers.back(); // loopback
    struct Case {
        std::string what;
        DiscoveryJson line;
    };
    for (const Case &c : {Case{"no secret", {{"what", "try"}, {"offer", invitation->offers.size() - 1}}},
                          Case{"a wrong one", {{"what", "try"}, {"knock", std::string(32, '0')}}},
                          Case{"an empty one", {{"what", "try"}, {"knock", ""}}},
                          Case{"a wrong token", {{"what", "reached"}, {"node", 1}, {"token", "x"}}}}) {
        CAPTURE(c.what);
        CHECK(answerTo(connectTo(offer.address, offer.port).get(), c.line).empty());
    }
    std::vector<Fd> silent;
    for (int i = 0; i < 300; ++i)
        silent.push_back(connectTo(offer.address, offer.port));
    const Fd guest = connectTo(offer.address, offer.port);
    CHECK(answerTo(guest.get(), {{"what", "try"}, {"knock", offer.knock}}).find(offer.proof) != std::string::npos);
    const DiscoveryJson reached = {{"what", "reached"},
                                   {"node", 1},
                                   {"token", invitation->token},
                                   {"host", "here"},
                                   {"offers", {invitation->offers.size() - 1}},
                                   {"by", {offer.interface}}};
    CHECK(answerTo(guest.get(), reached).find("interfaces") != std::string::npos);
    discovery.join();
    REQUIRE(interfaces);
    CHECK(interfaces->size() == 2);
}

TEST_CASE("a stranger at node 0's address whose line never ends holds no node beyond the limit to join") {
    const TestHome home;
    const EndingSignalsBlocked blocked;
    const DrippingStranger stranger;
    const auto found = joinAt(stranger, 1);
    REQUIRE_FALSE(found);
    CHECK_MESSAGE(found.error().what.find("127.0.0.1 (lo): somebody else answers") != std::string::npos,
                  found.error().what);
}

TEST_CASE("a signal ends the search for node 0 while a stranger's line goes on") {
    const TestHome home;
    const EndingSignalsBlocked blocked;
    const DrippingStranger stranger([self = ::pthread_self()] { ::pthread_kill(self, SIGTERM); });
    const auto found = joinAt(stranger, 86400);
    REQUIRE_FALSE(found);
    CHECK(found.error().message() == discoveryInterrupted().message());
}

TEST_CASE("unauthenticated peers that come and go by the thousand cost agent 0 no memory") {
#ifdef __SANITIZE_ADDRESS__
    MESSAGE("skipped: AddressSanitizer keeps what was freed");
    return;
#endif
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1;steps=2"}}, {}});
    run.startFirst();
    const double before = mostMemoryMiB(run.agent(0));
    for (int i = 0; i < 20'000; ++i)
        (void)connectTo(run.join());
    CHECK(valueOf(run.startOther(1), "type") == "ready");
    const double grown = mostMemoryMiB(run.agent(0)) - before;
    MESSAGE(grown << " MiB");
    CHECK(grown < 32);
}

TEST_CASE("silent unauthenticated peers that come again and again keep no node from joining") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1;steps=2"}}, {}});
    run.startFirst();
    std::atomic<bool> enough = false;
    std::thread flood([&, at = run.join()] {
        for (std::deque<Fd> silent; !enough; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
            silent.push_back(connectTo(at));
            if (silent.size() > 300)
                silent.pop_front();
        }
    });
    const bool ready = valueOf(run.startOther(1), "type") == "ready";
    enough = true;
    flood.join();
    REQUIRE(ready);
    CHECK((resultOf(run.folder(0)).state == RunState::Done));
}
