// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/net/net_talk.h"

namespace lockstep::agent {

namespace {

using Json = nlohmann::ordered_json;
using Milliseconds = std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;
using namespace std::chrono_literals;

struct Target {
    std::string address, token, interface, source;
    int port = 0;
    int pings = 1;
    double bulkS = 0;
    Milliseconds patience{3000};
};

double secondsBetween(SteadyClock::time_point from, SteadyClock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

/// Binds the socket to the interface if the kernel allows that, else to the interface's address.
std::string leaveThrough(int fd, const Target &target) {
    if (!target.interface.empty() &&
        ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, target.interface.c_str(),
                     static_cast<socklen_t>(target.interface.size())) != 0 &&
        errno != EPERM)
        return "interface " + target.interface + ": " + std::strerror(errno);
    if (!target.source.empty()) {
        const auto source = netAddress(target.source, 0);
        if (!source)
            return source.error().what;
        if (::bind(fd, source->get(), source->length) != 0)
            return "source address " + target.source + ": " + std::strerror(errno);
    }
    return {};
}

/// Connects within `patience`. Returns 0 or the errno; ETIMEDOUT if no answer came.
int connectWithin(int fd, const NetAddress &where, Milliseconds patience) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (::connect(fd, where.get(), where.length) != 0) {
        if (errno != EINPROGRESS)
            return errno;
        pollfd wait{fd, POLLOUT, 0};
        if (::poll(&wait, 1, static_cast<int>(patience.count())) <= 0)
            return ETIMEDOUT;
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0)
            return error;
    }
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return 0;
}

std::string nameOfErrno(int error) {
    switch (error) {
    case ECONNREFUSED:
        return "refused";
    case ETIMEDOUT:
        return "no_answer";
    case EHOSTUNREACH:
    case ENETUNREACH:
        return "no_route";
    default:
        return std::strerror(error);
    }
}

bool measureRoundTrips(int fd, const Target &target, Json &said) {
    std::vector<double> times;
    for (int i = 0; i < target.pings; ++i) {
        const auto start = SteadyClock::now();
        if (!writeAll(fd, "PING\n") || readNetLine(fd, start + target.patience) != "PONG") {
            said["error"] = "broke_off";
            return false;
        }
        times.push_back(secondsBetween(start, SteadyClock::now()));
    }
    std::sort(times.begin(), times.end());
    if (!times.empty()) {
        said["round_trip_s"] = times[times.size() / 2];
        said["round_trip_min_s"] = times.front();
    }
    return true;
}

/// Sends for `forS` seconds; the other side reports how many bytes came in which time. "stalled": small messages pass,
/// large ones do not.
void measureBandwidth(int fd, double forS, Json &said) {
    const std::string block(netBlockBytes, 'x');
    setSocketPatience(fd, 4s);
    if (!writeAll(fd, "SEND\n"))
        return;
    const auto end = SteadyClock::now() + std::chrono::duration<double>(forS);
    bool stalled = false;
    while (!stalled && SteadyClock::now() < end)
        stalled = !writeAll(fd, block);
    ::shutdown(fd, SHUT_WR);
    const auto until = SteadyClock::now() + 8s; // buffered bytes may take long on a slow link
    const auto got = stalled ? std::nullopt : readNetLine(fd, until);
    unsigned long long bytes = 0, ns = 0;
    if (!got || std::sscanf(got->c_str(), "GOT %llu %llu", &bytes, &ns) != 2 || ns == 0) {
        said["stalled"] = true;
        return;
    }
    said["bandwidth_bytes_s"] = static_cast<double>(bytes) / (static_cast<double>(ns) / 1e9);
    said["sent_bytes"] = bytes;
}

Json talkTo(const Target &target) {
    Json said = {{"address", target.address}, {"port", target.port}, {"ok", false}};
    const auto where = netAddress(target.address, target.port, true);
    if (!where) {
        said["error"] = "not_resolved";
        return said;
    }
    const Fd fd(::socket(where->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (const std::string problem = leaveThrough(fd.get(), target); !problem.empty()) {
        said["error"] = problem;
        return said;
    }
    if (const int error = connectWithin(fd.get(), *where, target.patience); error != 0) {
        said["error"] = nameOfErrno(error);
        return said;
    }
    const int one = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setSocketPatience(fd.get(), target.patience);
    if (!writeAll(fd.get(), std::string(netGreeting) + target.token + "\n") ||
        readNetLine(fd.get(), SteadyClock::now() + target.patience) != "HELLO") {
        said["error"] = "somebody_else"; // something listens there, but not the one that was started for this test
        return said;
    }
    int segment = 0;
    socklen_t length = sizeof segment;
    if (::getsockopt(fd.get(), IPPROTO_TCP, TCP_MAXSEG, &segment, &length) == 0)
        said["segment_bytes"] = segment;
    if (!measureRoundTrips(fd.get(), target, said))
        return said;
    said["ok"] = true;
    if (target.bulkS > 0)
        measureBandwidth(fd.get(), target.bulkS, said);
    return said;
}

Target targetFrom(const Json &json) {
    Target target;
    target.address = json.at("address").get<std::string>();
    target.port = json.at("port").get<int>();
    target.token = json.at("token").get<std::string>();
    target.interface = json.value("interface", "");
    target.source = json.value("source", "");
    target.pings = std::clamp(json.value("pings", 1), 1, 10'000);
    target.bulkS = std::clamp(json.value("bulk_s", 0.0), 0.0, 60.0);
    target.patience = Milliseconds(std::clamp(json.value("patience_ms", 3000), 10, 60'000));
    return target;
}

Json resolved(const std::string &name) {
    Json json = {{"name", name}, {"addresses", Json::array()}};
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *found = nullptr;
    const int rc = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
    if (rc != 0) {
        json["error"] = ::gai_strerror(rc);
        return json;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo *)> list(found, ::freeaddrinfo);
    for (const addrinfo *one = found; one; one = one->ai_next) {
        if (const std::string address = numericAddress(one->ai_addr, one->ai_addrlen); !address.empty())
            json["addresses"].push_back(address);
    }
    return json;
}

void print(const Json &json) {
    std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
}

} // namespace

int netConnectCommand() {
    Json answer = {{"type", "connected"}, {"results", Json::array()}};
    try {
        const Json request = Json::parse(readStdinLine());
        std::vector<Target> targets;
        for (const Json &json : request.at("targets"))
            targets.push_back(targetFrom(json));
        std::vector<Json> results(targets.size());
        const bool oneByOne = request.value("one_by_one", false); // bandwidths must not share the link
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < targets.size(); ++i) {
            if (oneByOne)
                results[i] = talkTo(targets[i]);
            else
                threads.emplace_back([&, i] { results[i] = talkTo(targets[i]); });
        }
        threads.clear();
        for (Json &result : results)
            answer["results"].push_back(std::move(result));
    } catch (const std::exception &exception) {
        std::fprintf(stderr, "net connect reads {\"targets\":[…]} on stdin: %s\n", exception.what());
        return 2;
    }
    print(answer);
    return 0;
}

int netResolveCommand() {
    Json answer = {{"type", "resolved"}, {"names", Json::array()}};
    try {
        const Json request = Json::parse(readStdinLine());
        for (const Json &name : request.at("names"))
            answer["names"].push_back(resolved(name.get<std::string>()));
    } catch (const std::exception &exception) {
        std::fprintf(stderr, "net resolve reads {\"names\":[…]} on stdin: %s\n", exception.what());
        return 2;
    }
    print(answer);
    return 0;
}

} // namespace lockstep::agent
