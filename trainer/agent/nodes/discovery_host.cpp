// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/discovery_host.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "trainer/agent/devices/machine.h"
#include "trainer/agent/net/peer_tcp_state.h"
#include "trainer/agent/net/secrets.h"
#include "trainer/agent/net/signal_watch.h"
#include "trainer/agent/nodes/gathered_node_facts.h"
#include "trainer/agent/nodes/node_listener.h"
#include "trainer/agent/ranks/rank_process.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::seconds knockTimeout{5};

/// Every interface of this node that has an address, the most promising first: a hardware device before a bridge or a
/// tunnel, a faster one before a slower one, loopback last (for nodes that are one machine).
std::vector<InterfaceOffer> ownAddresses() {
    std::vector<InterfaceFacts> facts = interfaceFacts();
    std::erase_if(facts, [](const InterfaceFacts &one) { return one.addresses.empty() || one.state == "down"; });
    std::stable_sort(facts.begin(), facts.end(), [](const InterfaceFacts &a, const InterfaceFacts &b) {
        if (a.loopback != b.loopback)
            return b.loopback;
        if (a.real != b.real)
            return a.real;
        return a.speedMbit.value_or(0) > b.speedMbit.value_or(0);
    });
    std::vector<InterfaceOffer> offers;
    for (const InterfaceFacts &one : facts)
        if (auto address = addressOfInterface(one.name)) // where the run will listen
            offers.push_back({one.name, *address, makeToken(), makeToken(), 0});
    return offers;
}
} // namespace

int commonOffer(int count, const std::vector<std::vector<int>> &reached) {
    for (int offer = 0; offer < count; ++offer)
        if (std::all_of(reached.begin(), reached.end(), [&](const std::vector<int> &list) {
                return std::find(list.begin(), list.end(), offer) != list.end();
            }))
            return offer;
    return -1;
}

DiscoveryHost::DiscoveryHost(const CommandOptions &options)
    : m_options(options), m_invitation{makeToken(), ownAddresses()} {}

DiscoveryHost::~DiscoveryHost() {
    std::error_code ignored;
    std::filesystem::remove(discoveryFile(m_options.runId), ignored);
}

Result<void> DiscoveryHost::listen() {
    for (std::size_t i = 0; i < m_invitation.offers.size(); ++i) {
        auto port = bindMasterPort(m_invitation.offers[i].address, 0);
        if (!port)
            continue; // skip an address that cannot be bound
        m_invitation.offers[i].port = port->port;
        const int fd = port->listener.get();
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
        m_loop.watch(fd, EPOLLIN, [this, fd, i](std::uint32_t) { accept(fd, i); });
        m_ports.push_back(std::move(*port));
    }
    if (m_ports.empty())
        return lockstep::fail(Error::failed("this node has no network address at which the other nodes could find it",
                                            "see ip address, or give --interface IF"));
    return writeInvitation(m_options.runId, m_invitation);
}

void DiscoveryHost::accept(int listener, std::size_t offer) {
    for (int i = 0; i < 64; ++i) {
        auto fd = m_acceptors[listener].accept(listener);
        if (!fd)
            continue; // dropped, since descriptors have run out
        if (!fd->valid())
            return;
        m_callers.remove_if([](const auto &caller) { return !caller->socket->open(); });
        Caller &caller = *m_callers.emplace_back(std::make_unique<Caller>());
        caller.socket =
            LineSocket::open(m_loop, m_clock, std::move(*fd),
                             {[this, &caller, offer](std::string_view line) { onLine(caller, offer, line); },
                              [this, &caller](const std::string &) { drop(caller); },
                              {}});
        caller.timer = m_loop.after(knockTimeout, [this, &caller] { drop(caller); });
        caller.place = m_unauthenticated.add(addressOfPeer(caller.socket->peer()), [this, &caller] {
            caller.place = 0;
            drop(caller);
        });
    }
}

void DiscoveryHost::drop(Caller &caller) {
    m_loop.cancel(caller.timer);
    m_unauthenticated.remove(caller.place);
    caller.socket->close(); // forgotten when the next one comes
}

/// Whoever does not know this offer's knock gets no answer at all.
void DiscoveryHost::onLine(Caller &caller, std::size_t offer, std::string_view line) {
    const DiscoveryJson json = decodeDiscoveryLine(line);
    const std::string what = textOf(json, "what");
    const InterfaceOffer &own = m_invitation.offers[offer];
    const bool tries = what == "try" && sameSecret(own.knock, textOf(json, "knock"));
    const bool reached = what == "reached" && sameSecret(m_invitation.token, textOf(json, "token"));
    if (!tries && !reached)
        return drop(caller);
    m_loop.cancel(caller.timer);
    m_unauthenticated.remove(std::exchange(caller.place, 0));
    if (reached)
        return onReached(caller.socket, json);
    caller.socket->send(encodeDiscoveryLine({{"what", "proof"}, {"proof", own.proof}}));
}

void DiscoveryHost::onReached(const std::shared_ptr<LineSocket> &socket, const DiscoveryJson &json) {
    const int node = numberOf(json, "node");
    if (node < 1 || node >= m_options.nodes)
        return socket->close();
    Reached reached{textOf(json, "host"), {}, {}, socket};
    if (json.contains("offers") && json.contains("by") && json["offers"].is_array() && json["by"].is_array() &&
        json["offers"].size() == json["by"].size())
        for (std::size_t i = 0; i < json["offers"].size(); ++i)
            if (json["offers"][i].is_number_integer() && json["by"][i].is_string()) {
                reached.offers.push_back(json["offers"][i].get<int>());
                reached.by.push_back(json["by"][i].get<std::string>());
            }
    m_reached[node] = std::move(reached);
    if (static_cast<int>(m_reached.size()) == m_options.nodes - 1)
        decide();
}

void DiscoveryHost::decide() {
    std::vector<std::vector<int>> lists;
    for (const auto &[node, reached] : m_reached)
        lists.push_back(reached.offers);
    const int chosen = commonOffer(static_cast<int>(m_invitation.offers.size()), lists);
    if (chosen < 0) {
        fail(Error::failed("no address of " + hostName() +
                               ", which is node 0, is reached by all nodes: " + whoReachesWhat(),
                           "connect them to one network, or give --interface IF"));
        return answerAll({{"what", "error"}, {"message", m_error->message()}});
    }
    const InterfaceOffer &offer = m_invitation.offers[static_cast<std::size_t>(chosen)];
    m_interfaces = {offer.interface};
    m_sentence =
        "the network between the nodes was found by trying: " + hostName() + " is reached by all at " + offer.title();
    for (const auto &[node, reached] : m_reached) {
        const auto at = std::find(reached.offers.begin(), reached.offers.end(), chosen) - reached.offers.begin();
        m_interfaces.push_back(reached.by[static_cast<std::size_t>(at)]);
        m_sentence += ", " + reached.host + " uses " + m_interfaces.back();
    }
    answerAll({{"what", "interfaces"}, {"interfaces", m_interfaces}});
    m_loop.quit();
}

std::string DiscoveryHost::whoReachesWhat() const {
    std::string text;
    for (const auto &[node, reached] : m_reached) {
        text += (text.empty() ? "" : "; ") + reached.host + " reaches ";
        for (std::size_t i = 0; i < reached.offers.size(); ++i)
            if (const auto offer = static_cast<std::size_t>(reached.offers[i]); offer < m_invitation.offers.size())
                text += (i > 0 ? ", " : "") + m_invitation.offers[offer].title();
    }
    return text;
}

void DiscoveryHost::fail(Error why) {
    m_error = std::move(why);
    m_loop.quit();
}

void DiscoveryHost::answerAll(const DiscoveryJson &answer) {
    for (auto &[node, reached] : m_reached)
        reached.socket->send(encodeDiscoveryLine(answer)); // fits into the socket's buffer, so it is sent at once
}

std::string DiscoveryHost::absent() const {
    std::string text;
    for (int node = 1; node < m_options.nodes; ++node)
        if (!m_reached.contains(node))
            text += (text.empty() ? "node " : ", node ") + std::to_string(node);
    return text;
}

Result<std::vector<std::string>> DiscoveryHost::run() {
    if (const auto listening = listen(); !listening)
        return lockstep::fail(listening.error());
    const SignalWatch signals(m_loop, endingSignals(), [this](int) { fail(discoveryInterrupted()); });
    m_loop.after(std::chrono::milliseconds(static_cast<std::int64_t>(m_options.joinLimitS * 1000)), [this] {
        std::string offers;
        for (const InterfaceOffer &offer : m_invitation.offers)
            offers += (offers.empty() ? "" : ", ") + offer.title();
        fail(Error::failed(absent() + " did not find " + hostName() + ", which is node 0, within " +
                               std::to_string(static_cast<int>(m_options.joinLimitS)) + " s at any of " + offers,
                           "see what its agent says; or give --interface IF"));
    });
    m_loop.run();
    for (const auto &caller : m_callers)
        drop(*caller);
    if (m_error)
        return lockstep::fail(*m_error);
    return m_interfaces;
}

} // namespace lockstep::agent
