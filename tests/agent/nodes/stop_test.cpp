// SPDX-License-Identifier: MIT
// Stops of a run on several nodes of which a part is gone already: some ranks, another agent, the link between two.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "ipc/messages.h"
#include "ipc/node_messages.h"
#include "tests/agent/follow_client.h"
#include "tests/agent/nodes_run.h"
#include "tests/agent/tcp_relay.h"

using namespace lockstep;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

namespace {

/// Two nodes: the rank of agent 0 is over, that of node 1 does as `other` says.
struct OnlyNode1Trains {
    explicit OnlyNode1Trains(const std::string &other)
        : run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1;steps=20"}, {"FAKE_RANK_1", other}}, {}}) {
        run.startAll();
        const auto pids = run.pids();
        REQUIRE(eventually([&] { return !isAlive(pids.at(0)); }));
        std::this_thread::sleep_for(500ms); // agent 0 has reaped it
        REQUIRE(isAlive(pids.at(1)));
    }
    const TestHome home;
    NodesRun run;
};

void checkStoppedThere(const NodesRun &run) {
    CHECK(eventually([&] { return run.allGone(); }));
    CHECK((resultOf(run.folder(1)).state == RunState::Stopped));
    CHECK(run.copy(1) == run.log(1));
}

int exitOf(const RunResult &result, int rank) {
    for (const RankExit &exit : result.ranks)
        if (exit.rank == rank)
            return exit.code ? *exit.code : 128 + exit.signal.value_or(0);
    return -1;
}

/// `lockstep-agent run` on two nodes that share a home, with two restarts: one rank each.
struct RestartedByHand {
    explicit RestartedByHand(const Child::Environment &environment)
        : id(makeRunId()), first(command("0"), environment), second(command("1"), environment) {}
    [[nodiscard]] std::vector<std::string> command(const char *node) const {
        return {agentBinary(), "run", "--nnodes",         "2", "--node-rank",    node, "--run-id", id,
                "--interface", "lo",  "--nproc-per-node", "1", "--max-restarts", "2",  "--",       fakeRank()};
    }
    [[nodiscard]] std::string log(int node) const { return contentsOf(runFolder(id).log(node)); }
    std::string id;
    Child first, second;
};

} // namespace

TEST_CASE("a signal to agent 0 while only another node's ranks train stops them, and the run is called stopped") {
    OnlyNode1Trains here("epochs=1000");
    NodesRun &run = here.run;
    ::kill(run.agent(0), SIGTERM);
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Stopped));
    CHECK(result.exitCode == 130);
    CHECK(result.reason == "stopped by SIGTERM");
    CHECK(exitOf(result, 1) == 130);
    checkStoppedThere(run);
}

TEST_CASE("signals to both agents at once are one stop: the ranks that are left write what they have and end by "
          "themselves") {
    OnlyNode1Trains here("epochs=1000;step_ms=1500");
    NodesRun &run = here.run;
    ::kill(run.agent(1), SIGTERM);
    ::kill(run.agent(0), SIGTERM);
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Stopped));
    CHECK(exitOf(result, 1) == 130);
    CHECK_FALSE(hasAlert(run.log(1), "stopped_by_kill"));
    checkStoppedThere(run);
}

TEST_CASE("a signal to a node whose own ranks are over stops the ranks that are left on others") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1000"}, {"FAKE_RANK_1", "epochs=1;steps=20"}}, {}});
    run.startAll();
    const auto pids = run.pids();
    REQUIRE(eventually([&] { return !isAlive(pids.at(1)); }));
    std::this_thread::sleep_for(500ms); // agent 1 has reaped it
    ::kill(run.agent(1), SIGTERM);
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Stopped));
    CHECK(result.reason == "stopped by SIGTERM");
    checkStoppedThere(run);
}

TEST_CASE("a second stop while only another node's ranks train kills them, and their log is kept whole") {
    OnlyNode1Trains here("epochs=1000;ignore_term");
    NodesRun &run = here.run;
    const auto start = Steady::now();
    ::kill(run.agent(0), SIGTERM);
    std::this_thread::sleep_for(1500ms);
    ::kill(run.agent(0), SIGTERM);
    const RunResult result = resultOf(run.folder(0));
    CHECK(secondsSince(start) < 4.5); // before the grace period is over
    CHECK((result.state == RunState::Stopped));
    CHECK(exitOf(result, 1) == 128 + SIGKILL);
    checkStoppedThere(run);
}

TEST_CASE("a stop while the link to a node that trains is lost says that its end is unknown, and does not wait for the "
          "lease") {
    OnlyNode1Trains here("epochs=1000");
    NodesRun &run = here.run;
    ::kill(run.agent(1), SIGSTOP);
    REQUIRE(eventually([&] { return linksOf(run) == std::vector<std::string>{"up", "lost"}; }));
    const auto start = Steady::now();
    ::kill(run.agent(0), SIGTERM);
    const RunResult result = resultOf(run.folder(0));
    CHECK(secondsSince(start) < 25); // of a lease of 60 s
    CHECK((result.state == RunState::Stopped));
    CHECK(result.exitCode == 130);
    CHECK_MESSAGE(result.reason.starts_with("stopped by SIGTERM; the link to "), result.reason);
    CHECK_MESSAGE(result.reason.ends_with("how its ranks ended is unknown"), result.reason);
    ::kill(run.agent(1), SIGKILL);
    CHECK(eventually([&] { return run.allGone(); }));
}

TEST_CASE("a stop asked at a node whose agent 0 does not answer ends its ranks, and then the node, within seconds") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1000"}}, {}});
    run.startAll();
    const auto pids = run.pids();
    ::kill(run.agent(0), SIGSTOP);
    std::this_thread::sleep_for(500ms); // the link does not count as lost yet
    const auto start = Steady::now();
    ::kill(run.agent(1), SIGTERM);
    CHECK(eventually([&] { return !isAlive(pids.at(1)); }));
    CHECK(secondsSince(start) < 5);
    CHECK(eventually([&] { return !isAlive(run.agent(1)); }));
    CHECK(secondsSince(start) < 25); // of a lease of 60 s
    const RunResult there = resultOf(run.folder(1));
    CHECK((there.state == RunState::Stopped));
    CHECK(there.reason == "stopped by SIGTERM");
    ::kill(run.agent(0), SIGKILL);
    CHECK(eventually([&] { return run.allGone(); }));
}

TEST_CASE("a stop asked at a node whose link is cut reaches agent 0 when the link is back") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1000"}}, {}});
    run.startFirst();
    TcpRelay relay(run.join());
    REQUIRE(valueOf(run.startOther(1, relay.address()), "type") == "ready");
    const auto pids = run.pids();
    relay.cut();
    REQUIRE(eventually([&] { return linksOf(run) == std::vector<std::string>{"up", "lost"}; }));
    ::kill(run.agent(1), SIGTERM);
    CHECK(eventually([&] { return !isAlive(pids.at(1)); }));
    CHECK(isAlive(pids.at(0)));
    relay.restore();
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Stopped));
    CHECK(result.reason == "stopped by SIGTERM");
    CHECK(eventually([&] { return run.allGone(); }));
}

TEST_CASE(
    "a stop during the grace period after a failure keeps all nodes' ranks from starting again, and both commands "
    "end with the failed rank's code") {
    for (const bool atFirst : {true, false}) {
        CAPTURE(atFirst);
        const TestHome home;
        RestartedByHand run(
            {{"FAKE_RANK_0", "epochs=1000;ignore_term"}, {"FAKE_RANK_1", "epochs=1000;exit_at=100;exit=3"}});
        REQUIRE(eventually(
            [&] { return run.log(0).find("the ranks here end with the others: rank 1 on ") != std::string::npos; }));
        ::kill(atFirst ? run.first.pid() : run.second.pid(), SIGTERM);
        CHECK(run.first.wait() == 3);
        CHECK(run.second.wait() == 3);
        const RunResult result = resultOf(runFolder(run.id));
        CHECK((result.state == RunState::Failed));
        CHECK_MESSAGE(result.reason.find("exited with code 3") != std::string::npos, result.reason);
        CHECK_FALSE(hasAlert(run.log(0), "restart"));
    }
}

TEST_CASE("a stop by somebody whose name is as long as a line reaches all nodes, with the name cut short") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1000"}}, {}});
    run.startAll();
    (void)run.pids();
    const std::string by(maxFrameBytes - 2 - encode(Control{"stop", ""}).size(), 'x');
    FollowClient client(run.socket(), 0);
    client.send(encode(Control{"stop", by}) + "\n");
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Stopped));
    CHECK(result.reason == "stopped by " + std::string(longestAsker, 'x'));
    CHECK(linksOf(run) == std::vector<std::string>{"up", "ended"});
    CHECK(eventually([&] { return run.allGone(); }));
}

TEST_CASE("the name of who asks, from a viewer or another node, and a reason are cut between two characters") {
    std::string by = "x";
    for (int i = 0; i < 150; ++i)
        by += "ä";
    const std::string cut = by.substr(0, longestAsker - 1);
    const auto control = decodeControl(encode(Control{"stop", by}));
    REQUIRE(control);
    CHECK(control->by == cut);
    NodeMessage stop;
    stop.what = NodeMessage::What::Stop;
    stop.by = by;
    stop.reason = std::string(longestReason - 1, 'x') + "ä and more";
    const auto message = decodeNodeMessage(encode(stop));
    REQUIRE(message);
    CHECK(message->by == cut);
    CHECK(message->reason == std::string(longestReason - 1, 'x'));
}
