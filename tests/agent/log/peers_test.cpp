// SPDX-License-Identifier: MIT
// What many peers at a run's socket cost the agent and the ranks that are well.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ipc/clock.h"
#include "ipc/line_framer.h"
#include "ipc/messages.h"
#include "tests/agent/agent_process.h"
#include "tests/figure.h"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {

std::vector<Fd> connections(const std::string &socket, int count) {
    std::vector<Fd> all;
    for (int i = 0; i < count; ++i) {
        auto fd = connectUnix(socket, false);
        REQUIRE_MESSAGE(fd, i);
        all.push_back(std::move(*fd));
    }
    return all;
}

/// False when the agent has closed the connection.
bool sendAll(const Fd &fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

/// A connection that has asked for the run's whole log.
Fd followerOf(const ServedRun &run) {
    Fd viewer = std::move(connections(run.socket, 1).front());
    Hello hello;
    hello.role = "follower";
    hello.nextSeq = 0;
    CHECK(sendAll(viewer, encode(hello) + "\n"));
    return viewer;
}

bool closedByAgent(const Fd &fd) {
    char bytes[4096];
    ssize_t got = 1;
    while (got > 0)
        got = ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return got == 0 || errno == ECONNRESET;
}

} // namespace

TEST_CASE(
    "a peer that sends a line without end costs the agent 2 MiB at most, and one that stops before its end no more") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;steps=100000;step_ms=20"}});
    (void)rankPids(run.folder, 1);
    const double before = mostMemoryMiB(run.agent);
    constexpr int peers = 10;
    const std::vector<Fd> halves = connections(run.socket, peers), endless = connections(run.socket, peers);
    for (const Fd &fd : halves)
        CHECK(sendAll(fd, std::string(60'000, 'x'))); // kept: it may be the beginning of a frame
    for (const Fd &fd : endless)
        (void)sendAll(fd, std::string(16 << 20, 'x'));
    CHECK(eventually([&] { return std::ranges::all_of(endless, closedByAgent); }));
    const double grown = mostMemoryMiB(run.agent) - before;
    MESSAGE(grown, " MiB for ", 2 * peers, " peers");
    CHECK(grown < 2 * 2 * peers);
}

TEST_CASE("a healthy rank's frames are passed on beside a thousand connections that say nothing") {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 1500) {
        MESSAGE("skipped: it takes 1,500 descriptors");
        return;
    }
    limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, 1500);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;steps=100000;step_ms=20"}});
    (void)rankPids(run.folder, 1);
    const Fd viewer = followerOf(run);
    const std::vector<Fd> silent = connections(run.socket, 1000);

    const SystemClock clock;
    const auto begun = std::chrono::steady_clock::now();
    std::int64_t longest = 0;
    int frames = 0;
    LineFramer framer;
    Decoder decoder;
    const std::int64_t from = clock.monoNs();
    while (secondsSince(begun) < 3) {
        pollfd poll{viewer.get(), POLLIN, 0};
        if (::poll(&poll, 1, 100) <= 0)
            continue;
        char bytes[65536];
        const ssize_t got = ::recv(viewer.get(), bytes, sizeof bytes, 0);
        REQUIRE(got > 0);
        (void)framer.feed({bytes, static_cast<std::size_t>(got)}, [&](std::string_view line) {
            const auto frame = decoder.decode(line);
            if (!frame || !frame->rank || frame->monoNs < from)
                return;
            ++frames;
            longest = std::max(longest, clock.monoNs() - frame->monoNs);
        });
    }
    CHECK(frames > 20);
    test::printFigureLine("a frame of a rank at a viewer, beside 1,000 silent connections",
                          static_cast<double>(longest) * 1e-9, 0.1, "s");
}

TEST_CASE("two processes that report as one rank at the same time are an alert, one that follows another is none") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;steps=100000;step_ms=20"}});
    const pid_t rank = rankPids(run.folder, 1).at(0);
    const auto alerts = [&] {
        const std::string log = contentsOf(run.folder.log(0));
        std::size_t count = 0;
        for (auto at = log.find("\"rank_doubled\""); at != std::string::npos; at = log.find("\"rank_doubled\"", at + 1))
            ++count;
        return count;
    };
    Hello hello;
    hello.role = "rank";
    hello.rank = 0;
    std::vector<Fd> own = connections(run.socket, 2);
    CHECK(sendAll(own[0], encode(hello) + "\n"));
    CHECK(eventually([&] { return alerts() == 1; }));
    const std::string log = contentsOf(run.folder.log(0));
    CHECK(log.find("processes " + std::to_string(rank) + " and " + std::to_string(::getpid()) +
                   " report as rank 0 at the same time") != std::string::npos);
    CHECK(sendAll(own[1], encode(hello) + "\n")); // once a rank, and the same process again
    char answer[4096];
    CHECK(::recv(own[1].get(), answer, sizeof answer, 0) > 0);
    CHECK(alerts() == 1);

    const ServedRun other = serve(1, {{"FAKE_RANK", "no_connect;epochs=1;steps=100000;step_ms=20"}});
    for (int process = 0; process < 3; ++process) { // each ends before the next one begins
        const pid_t child = ::fork();
        if (child == 0) {
            const auto fd = connectUnix(other.socket, false);
            const bool greeted = fd && sendAll(*fd, encode(hello) + "\n");
            ::_exit(greeted && ::recv(fd->get(), answer, sizeof answer, 0) > 0 ? 0 : 1);
        }
        int status = 1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    std::this_thread::sleep_for(1500ms); // the log is written
    CHECK(contentsOf(other.folder.log(0)).find("rank_doubled") == std::string::npos);
}

TEST_CASE("a follower that reads slowly keeps an agent for half a minute at most") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;steps=2;step_ms=5;flood=250000"}});
    const Fd viewer = followerOf(run);
    // All of the log would take four minutes, and a chunk less than the 5 s after which a reader counts as stalled.
    const auto readSlowly = [&] {
        char bytes[16384];
        (void)::recv(viewer.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        std::this_thread::sleep_for(100ms);
    };
    const auto started = std::chrono::steady_clock::now();
    while (!std::filesystem::exists(run.folder.result()) &&
           secondsSince(started) < 200) // the flood takes longer on a busy machine
        readSlowly();
    (void)resultOf(run.folder);
    const auto ended = std::chrono::steady_clock::now();
    while (isAlive(run.agent) && secondsSince(ended) < 200)
        readSlowly();
    CHECK_FALSE(isAlive(run.agent));
    CHECK(secondsSince(ended) > 10);
}
