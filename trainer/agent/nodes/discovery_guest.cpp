// SPDX-License-Identifier: MIT
#include "trainer/agent/nodes/discovery_guest.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <nlohmann/json.hpp>

#include "ipc/frames.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/devices/machine.h"
#include "trainer/agent/net/net_talk.h"
#include "trainer/agent/ranks/rank_process.h"

namespace lockstep::agent {

namespace {
using std::chrono::milliseconds;
constexpr milliseconds tryLimit{2000}, answerLimit{1000}, betweenTries{1000};
constexpr int tries = 5;

/// The interface that has this address.
std::string interfaceOf(const std::string &address) {
    for (const auto &[interface, own] : networkInterfaces())
        if (own == address)
            return interface;
    return {};
}

std::string ownAddressOf(int fd) {
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (::getsockname(fd, reinterpret_cast<sockaddr *>(&own), &length) != 0)
        return {};
    return numericAddress(reinterpret_cast<const sockaddr *>(&own), length);
}

struct Tried {
    Fd fd;
    std::string problem;
};

/// Connects to all offers at once, so that the time-outs of those that do not answer run together.
std::vector<Tried> connectToAll(const std::vector<InterfaceOffer> &offers) {
    std::vector<Tried> all(offers.size());
    std::vector<pollfd> polls(offers.size(), pollfd{-1, POLLOUT, 0});
    for (std::size_t i = 0; i < offers.size(); ++i) {
        const auto address = netAddress(offers[i].address, offers[i].port);
        if (!address || offers[i].port == 0) {
            all[i].problem = "is no address";
            continue;
        }
        all[i].fd = Fd(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (::connect(all[i].fd.get(), address->get(), address->length) != 0 && errno != EINPROGRESS)
            all[i].problem = std::strerror(errno);
        else
            polls[i].fd = all[i].fd.get();
    }
    const auto until = std::chrono::steady_clock::now() + tryLimit;
    while (std::any_of(polls.begin(), polls.end(), [](const pollfd &one) { return one.fd >= 0; })) {
        const auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now()).count();
        if (left <= 0 || ::poll(polls.data(), polls.size(), static_cast<int>(left)) == 0)
            break;
        for (std::size_t i = 0; i < polls.size(); ++i)
            if (polls[i].fd >= 0 && polls[i].revents != 0) {
                int error = 0;
                socklen_t length = sizeof error;
                ::getsockopt(polls[i].fd, SOL_SOCKET, SO_ERROR, &error, &length);
                all[i].problem = error != 0 ? std::strerror(error) : "";
                polls[i].fd = -1;
            }
    }
    for (std::size_t i = 0; i < polls.size(); ++i)
        if (polls[i].fd >= 0)
            all[i].problem = "no answer within 2 s";
    return all;
}

bool signalled(int signalFd) {
    pollfd one{signalFd, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
}

/// Whether the peer is agent 0 of this run. A signal ends the question.
bool proves(int fd, const InterfaceOffer &offer, std::chrono::steady_clock::time_point until, int signalFd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    setSocketPatience(fd, answerLimit);
    if (!writeAll(fd, encodeDiscoveryLine({{"what", "try"}, {"knock", offer.knock}})))
        return false;
    const auto answered = std::min(until, std::chrono::steady_clock::now() + answerLimit);
    const auto line = readNetLine(fd, answered, maxFrameBytes, signalFd);
    return line && textOf(decodeDiscoveryLine(*line), "proof") == offer.proof;
}

struct Found {
    Fd fd; ///< to the first address that was reached
    std::vector<int> offers;
    std::vector<std::string> by;
    std::string problems;
};

Found tryAll(const std::vector<InterfaceOffer> &offers, std::chrono::steady_clock::time_point until, int signalFd) {
    Found found;
    std::vector<Tried> all = connectToAll(offers);
    for (std::size_t i = 0; i < offers.size() && !signalled(signalFd); ++i) {
        if (all[i].problem.empty() && !proves(all[i].fd.get(), offers[i], until, signalFd))
            all[i].problem = "somebody else answers";
        const std::string by = all[i].problem.empty() ? interfaceOf(ownAddressOf(all[i].fd.get())) : std::string();
        if (by.empty()) {
            found.problems += (found.problems.empty() ? "" : "; ") + offers[i].title() + ": " + all[i].problem;
            continue;
        }
        found.offers.push_back(static_cast<int>(i));
        found.by.push_back(by);
        if (!found.fd.valid())
            found.fd = std::move(all[i].fd);
    }
    return found;
}

/// Waits for agent 0's decision, which it takes once every node has reported what it reaches.
Result<std::vector<std::string>> hearInterfaces(int fd, milliseconds limit, int signalFd) {
    const auto line = readNetLine(fd, std::chrono::steady_clock::now() + limit, maxFrameBytes, signalFd);
    if (signalled(signalFd))
        return fail(discoveryInterrupted());
    const DiscoveryJson json = line ? decodeDiscoveryLine(*line) : DiscoveryJson::object();
    if (textOf(json, "what") == "error")
        return fail(Error::failed(textOf(json, "message")));
    std::vector<std::string> interfaces;
    if (json.contains("interfaces") && json["interfaces"].is_array())
        for (const DiscoveryJson &one : json["interfaces"])
            interfaces.push_back(one.is_string() ? one.get<std::string>() : std::string());
    if (interfaces.empty())
        return fail(Error::failed("agent 0 ended before all nodes had found it",
                                  "see its output for the reason, then start the run again"));
    return interfaces;
}

} // namespace

bool waitUnlessSignalled(milliseconds time) {
    const sigset_t signals = endingSignals();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec left{seconds.count(), std::chrono::nanoseconds(time - seconds).count()};
    return ::sigtimedwait(&signals, nullptr, &left) <= 0;
}

/// The file may be left over from an agent 0 that was killed, until the next one (of a requeued job) rewrites it.
Result<std::vector<std::string>> joinDiscovery(const CommandOptions &options, Invitation invitation) {
    const sigset_t signals = endingSignals();
    const Fd signalFd(::signalfd(-1, &signals, SFD_CLOEXEC));
    const milliseconds limit(static_cast<std::int64_t>(options.joinLimitS * 1000));
    const auto until = std::chrono::steady_clock::now() + limit;
    Found found;
    for (int i = 0; i < tries && found.offers.empty() && (i == 0 || std::chrono::steady_clock::now() < until); ++i) {
        if (i > 0 && !waitUnlessSignalled(betweenTries))
            return fail(discoveryInterrupted());
        if (auto fresh = readInvitation(options.runId))
            invitation = std::move(*fresh);
        found = tryAll(invitation.offers, until, signalFd.get());
        if (signalled(signalFd.get()))
            return fail(discoveryInterrupted());
    }
    if (found.offers.empty())
        return fail(
            Error::failed("node 0 is reached from " + hostName() + " at none of its addresses: " + found.problems,
                          "connect them to one network and open its firewall, or give --interface IF"));
    const DiscoveryJson reached = {{"what", "reached"},  {"node", options.nodeRank}, {"token", invitation.token},
                                   {"host", hostName()}, {"offers", found.offers},   {"by", found.by}};
    if (!writeAll(found.fd.get(), encodeDiscoveryLine(reached)))
        return fail(Error::failed("agent 0 ended before all nodes had found it",
                                  "see its output for the reason, then start the run again"));
    return hearInterfaces(found.fd.get(), limit, signalFd.get());
}

} // namespace lockstep::agent
