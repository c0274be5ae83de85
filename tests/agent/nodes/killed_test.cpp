// SPDX-License-Identifier: MIT
// A run on several nodes, one of whose processes is killed: a rank, another node's agent, agent 0.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/agent/nodes_run.h"
#include "tests/figure.h"

using namespace lockstep;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

TEST_CASE("kill -9 of a rank on another node ends all ranks and is named with its host and signal") {
    const TestHome home;
    NodesRun run(home, {{2, 1}, {{"FAKE_RANK", "epochs=1000;ignore_term"}}, {}});
    run.startAll();
    const auto pids = run.pids();
    const auto start = Steady::now();
    ::kill(pids.at(2), SIGKILL);
    CHECK(eventually([&] { return !isAlive(pids.at(0)) && !isAlive(pids.at(1)); }));
    lockstep::test::printFigure("all ranks ended after kill -9 of one on another node", start, 5);
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Failed));
    CHECK_MESSAGE(result.reason.find("rank 2 on ") == 0, result.reason);
    CHECK_MESSAGE(result.reason.find("was killed by SIGKILL") != std::string::npos, result.reason);
    CHECK(eventually([&] { return run.allGone(); }));
}

TEST_CASE("kill -9 of another node's agent takes its ranks with it; agent 0's go on, and the end is called unknown") {
    const TestHome home;
    NodesRun run(home, {{1, 2}, {{"FAKE_RANK", "epochs=1;steps=300"}}, {}});
    run.startAll();
    const auto pids = run.pids();
    ::kill(run.agent(1), SIGKILL);
    CHECK(eventually([&] { return !isAlive(pids.at(1)) && !isAlive(pids.at(2)); }));
    CHECK(eventually([&] { return linksOf(run) == std::vector<std::string>{"up", "lost"}; }));
    CHECK(isAlive(pids.at(0)));
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Failed));
    CHECK_MESSAGE(result.reason.find("did not come back") != std::string::npos, result.reason);
    CHECK(hasAlert(run.log(0), "link_lost", "its training state unknown"));
    // What it had sent may be more or less than what it had written.
    const std::string log = run.log(1), copy = run.copy(1);
    const std::size_t both = std::min(log.size(), copy.size());
    CHECK(both > 0);
    CHECK(copy.substr(0, both) == log.substr(0, both));
}

TEST_CASE("kill -9 of an agent that waits for agent 0 after its ranks leaves no socket, whether or not its keeper was "
          "killed too") {
    for (const bool keeperToo : {false, true}) {
        CAPTURE(keeperToo);
        const TestHome home;
        NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=2;steps=10;step_ms=100"}}});
        run.startAll();
        (void)run.pids();
        ::kill(run.agent(0), SIGSTOP);
        REQUIRE(eventually([&] {
            const auto states = bodiesOf<StateFrame>(framesIn(run.log(1)));
            return !states.empty() && !states.back().pid && states.back().state == RunState::Done;
        }));
        if (keeperToo) {
            const pid_t keeper = keeperOf(run.agent(1));
            REQUIRE(keeper > 0);
            ::kill(keeper, SIGKILL);
            CHECK(eventually([&] { return keeperOf(run.agent(1)) > 0 && keeperOf(run.agent(1)) != keeper; }));
        }
        ::kill(run.agent(1), SIGKILL);
        ::kill(run.agent(0), SIGKILL);
        CHECK(eventually([&] { return run.allGone(); }));
        CHECK(eventually([&] { return run.socketFiles().empty(); }));
    }
}

TEST_CASE("kill -9 of agent 0: a node whose ranks have ended does not wait for the lease's end") {
    const TestHome home;
    NodesRun::Options options{
        {1, 1}, {{"FAKE_RANK", "epochs=1000"}}, {{1, {{"FAKE_RANK", "epochs=2;steps=10;step_ms=100"}}}}};
    options.maxRestarts = 2; // so that it is agent 0's to say whether they start again
    NodesRun run(home, options);
    run.startAll();
    const auto pids = run.pids();
    REQUIRE(eventually([&] { return !isAlive(pids.at(1)); })); // agent 0's rank goes on: the run is not over
    ::kill(run.agent(0), SIGKILL);
    const auto start = Steady::now();
    CHECK(eventually([&] { return run.allGone(); }));
    CHECK(secondsSince(start) < 40); // of a lease of 60 s
    CHECK((resultOf(run.folder(1)).state == RunState::Done));
    CHECK(run.socketFiles().empty());
}

TEST_CASE("kill -9 of agent 0: its ranks go at once, another node's are kept for the lease and no longer") {
    const TestHome home;
    NodesRun::Options options{{1, 1}, {{"FAKE_RANK", "epochs=1000"}}, {}};
    options.leaseS = 5;
    NodesRun run(home, options);
    run.startAll();
    const auto pids = run.pids();
    const auto start = Steady::now();
    ::kill(run.agent(0), SIGKILL);
    CHECK(eventually([&] { return !isAlive(pids.at(0)); }));
    std::this_thread::sleep_for(1s);
    CHECK(isAlive(pids.at(1)));
    CHECK(eventually([&] { return !isAlive(pids.at(1)); }));
    CHECK(secondsSince(start) > 4.9);
    CHECK(eventually([&] { return run.allGone(); }));
    const RunResult there = resultOf(run.folder(1));
    CHECK((there.state == RunState::Failed));
    CHECK_MESSAGE(there.reason.find("was not reached for 5 s") != std::string::npos, there.reason);
}
