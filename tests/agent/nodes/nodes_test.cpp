// SPDX-License-Identifier: MIT
// One run on several nodes: agents on this machine that know of each other only what a launch passes to them.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ipc/clock.h"
#include "tests/agent/follow_client.h"
#include "tests/agent/nodes_run.h"
#include "tests/agent/tcp_relay.h"
#include "tests/figure.h"
#include "trainer/agent/net/net_talk.h"

using namespace lockstep;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

namespace {

/// Every line that agent 0 serves to a follower of all nodes, from the first on.
std::string followAll(const NodesRun &run, std::chrono::milliseconds patience = 30s) {
    FollowClient client(run.socket(), FollowClient::AllNodes{});
    return client.readToEnd(patience);
}

/// Processes whose environment or arguments name the home: what a run left.
int processesOf(const std::string &home) {
    int count = 0;
    for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
        const std::string pid = entry.path().filename();
        if (pid.find_first_not_of("0123456789") == std::string::npos && std::stoi(pid) != ::getpid())
            count += contentsOf(entry.path().string() + "/environ").find(home) != std::string::npos ? 1 : 0;
    }
    return count;
}

/// A folder as the kernel's powercap, with one package.
class PlantedPowercap {
public:
    explicit PlantedPowercap(std::string folder) : m_folder(std::move(folder)) {
        std::filesystem::create_directories(m_folder + "/intel-rapl:0");
        std::ofstream(m_folder + "/intel-rapl:0/name") << "package-0\n";
        std::ofstream(m_folder + "/intel-rapl:0/max_energy_range_uj") << "262143328850\n";
    }
    /// By rename: a reader never meets half a number.
    void put(std::uint64_t energyUj) const {
        const std::string path = m_folder + "/intel-rapl:0/energy_uj";
        std::ofstream(path + ".new") << energyUj << "\n";
        std::filesystem::rename(path + ".new", path);
    }
    [[nodiscard]] const std::string &folder() const { return m_folder; }

private:
    std::string m_folder;
};

} // namespace

TEST_CASE(
    "the energy of a run over two nodes is the sum of their counters, and names the node that has none; what went "
    "on besides is both nodes'") {
    for (const bool both : {true, false}) {
        const TestHome home;
        const std::string none = home.path() + "/none";
        const PlantedPowercap first(home.path() + "/powercap-0"), second(home.path() + "/powercap-1");
        first.put(1'000'000);
        second.put(5'000'000);
        NodesRun run(home, {{1, 1},
                            {{"FAKE_RANK", "epochs=1;steps=20;step_ms=100"}},
                            {{0, {{"LOCKSTEP_TEST_POWERCAP", first.folder()}}},
                             {1, {{"LOCKSTEP_TEST_POWERCAP", both ? second.folder() : none}}}}});
        run.startFirst();
        first.put(11'000'000); // while node 1 is waited for
        run.startOther(1);
        (void)run.pids(); // the meters have seen the first counts
        first.put(41'000'000);
        second.put(25'000'000);
        (void)followAll(run);
        const RunResult result = resultOf(run.folder(0));
        CHECK_MESSAGE((result.state == RunState::Done), result.reason);
        REQUIRE(result.energy.has_value());
        CHECK(result.energy->nodes == 2);
        REQUIRE(result.surroundings.has_value());
        CHECK((result.surroundings->nodes == 2 && result.surroundings->nodesUnknown == 0));
        CHECK_FALSE(result.surroundings->loadedNode.empty());
        REQUIRE((result.watching && result.watching->ranksWaitedS));
        const auto ownWaited = resultOf(run.folder(1)).watching.value_or(Watching()).ranksWaitedS;
        CHECK(result.watching->nodes == 2);
        CHECK(*result.watching->ranksWaitedS >= ownWaited.value_or(1e9)); // node 1's is in the sum
        if (both) {
            REQUIRE_MESSAGE(result.energy->packagesJ.has_value(), result.energy->packagesUnknown);
            CHECK(*result.energy->packagesJ == doctest::Approx(50)); // 30 of node 0, 20 of node 1
        } else {
            CHECK_FALSE(result.energy->packagesJ.has_value());
            CHECK_MESSAGE(result.energy->packagesUnknown.starts_with("on "), result.energy->packagesUnknown);
            CHECK(
                result.energy->packagesUnknown.ends_with(": the kernel shows no energy of the processor (RAPL), as in "
                                                         "most virtual machines"));
        }
    }
}

TEST_CASE("a run over nodes lasts from when all have joined until the last rank of any node has ended") {
    const TestHome home;
    NodesRun run(home, {{1, 1},
                        {},
                        {{0, {{"FAKE_RANK", "epochs=1;steps=2;step_ms=10"}}},
                         {1, {{"FAKE_RANK", "epochs=1;steps=20;step_ms=100"}}}}});
    run.startFirst();
    const std::int64_t waitingUs = SystemClock().wallUs();
    run.startOther(1);
    (void)followAll(run);
    const RunResult result = resultOf(run.folder(0)), there = resultOf(run.folder(1));
    CHECK_MESSAGE((result.state == RunState::Done), result.reason);
    CHECK(result.runTimeS > 1.5); // node 1's rank makes steps for 2 s
    CHECK(result.startWallUs >= waitingUs);
    CHECK(there.startWallUs >= result.startWallUs);
    for (const auto &[node, ended] : {std::pair(0, &result), std::pair(1, &there)}) {
        const auto record = runRecordFromJson(contentsOf(run.folder(node).config()));
        REQUIRE(record);
        CHECK(record->startWallUs == ended->startWallUs);
    }
}

TEST_CASE("nodes of 2 and 3 devices are one run: ranks are prefix sums, every log is whole at agent 0") {
    const TestHome home;
    NodesRun run(home, {{2, 3}, {{"FAKE_RANK", "epochs=2;steps=5;show_environment"}}, {}});
    run.startAll();
    const std::string followed = followAll(run);
    const RunResult result = resultOf(run.folder(0));
    CHECK_MESSAGE((result.state == RunState::Done), result.reason);
    REQUIRE(result.ranks.size() == 5);
    for (int rank = 0; rank < 5; ++rank)
        CHECK(result.ranks[static_cast<std::size_t>(rank)].rank == rank);
    const std::string third = contentsOf(run.folder(1).console(2));
    for (const char *said : {"RANK=2", "LOCAL_RANK=0", "WORLD_SIZE=5", "LOCAL_WORLD_SIZE=3", "GROUP_RANK=1"})
        CHECK_MESSAGE(third.find(said) != std::string::npos, third);
    CHECK(contentsOf(run.folder(0).console(1)).find("LOCAL_WORLD_SIZE=2") != std::string::npos);

    CHECK(run.copy(1) == run.log(1));
    const LineCount lines = countLines(followed);
    CHECK(lines.missing + lines.doubled + lines.damaged == 0);
    CHECK(lines.good.at(0) == result.logLines);
    CHECK(lines.good.at(1) == result.nodeLogLines.at(1));

    CHECK(eventually([&] { return run.allGone(); }));
    const RunResult there = resultOf(run.folder(1));
    CHECK((there.state == RunState::Done));
    const auto record = runRecordFromJson(contentsOf(run.folder(0).config()));
    REQUIRE(record);
    CHECK(record->machines.size() == 2);
    CHECK(record->deviceNames ==
          std::vector<std::string>{"node0/cpu:0", "node0/cpu:1", "node1/cpu:0", "node1/cpu:1", "node1/cpu:2"});
    CHECK(linksOf(run) == std::vector<std::string>{"up", "ended"});
    const auto links = bodiesOf<LinkFrame>(framesIn(run.log(0)));
    CHECK(std::any_of(links.begin(), links.end(), [](const LinkFrame &link) {
        return link.clockOffsetS && std::abs(*link.clockOffsetS) < 0.1 && link.roundTripS && *link.roundTripS < 0.5;
    }));
    CHECK_FALSE(std::filesystem::exists(run.folder(0).join()));
}

TEST_CASE("unlike lines of PyTorch on two nodes end the run before a rank starts, a patch release and a build do not") {
    for (const bool alike : {false, true}) {
        const TestHome home;
        NodesRun run(home,
                     {{1, 1},
                      {{"FAKE_RANK", "epochs=1;steps=2"}},
                      {{0, {{"FAKE_TORCH", "2.11.0+cu130"}}}, {1, {{"FAKE_TORCH", alike ? "2.11.1" : "2.7.1"}}}}});
        run.startAll();
        const RunResult result = resultOf(run.folder(0));
        CHECK((result.state == (alike ? RunState::Done : RunState::Failed)));
        const auto record = runRecordFromJson(contentsOf(run.folder(0).config()));
        REQUIRE(record);
        CHECK(record->machines.at(0).torchVersion == "2.11.0+cu130");
        CHECK(record->machines.at(1).torchVersion == (alike ? "2.11.1" : "2.7.1"));
        CHECK(hasAlert(run.log(0), "torch_differs") == !alike);
        if (!alike) {
            CHECK_MESSAGE(result.reason.find("2.7.1 on ") != std::string::npos, result.reason);
            CHECK_MESSAGE(result.reason.find("nodes sync") != std::string::npos, result.reason);
            CHECK(result.exitCode == 2);
            CHECK(result.ranks.empty());
        }
        CHECK(eventually([&] { return run.allGone(); }));
    }
}

TEST_CASE("4 + 4 and 3 × 4 devices") {
    for (const std::vector<int> &devices : {std::vector<int>{4, 4}, std::vector<int>{4, 4, 4}}) {
        const TestHome home;
        NodesRun run(home, {devices, {{"FAKE_RANK", "epochs=1;steps=2"}}, {}});
        run.startAll();
        const RunResult result = resultOf(run.folder(0));
        CHECK_MESSAGE((result.state == RunState::Done), result.reason);
        std::vector<int> ranks;
        for (const RankExit &exit : result.ranks)
            ranks.push_back(exit.rank);
        std::vector<int> all(devices.size() * 4);
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<int>(i);
        CHECK(ranks == all);
        CHECK(eventually([&] { return run.allGone(); }));
    }
}

TEST_CASE("a stop asked of any node's agent ends the ranks of all") {
    for (int asked = 0; asked < 2; ++asked) {
        const TestHome home;
        NodesRun run(home, {{1, 2}, {{"FAKE_RANK", "epochs=1000"}}, {}});
        run.startAll();
        const auto pids = run.pids();
        Child stop({agentBinary(), "stop", run.runId(), "--by", "a test"}, {{"LOCKSTEP_HOME", run.homeOf(asked)}});
        CHECK(stop.wait() == 0);
        const RunResult result = resultOf(run.folder(0));
        CHECK((result.state == RunState::Stopped));
        CHECK(result.reason == "stopped by a test");
        CHECK(result.exitCode == 130);
        CHECK(eventually([&] { return run.allGone(); }));
        for (const auto &[rank, pid] : pids)
            CHECK_FALSE(isAlive(pid));
        CHECK((resultOf(run.folder(1)).state == RunState::Stopped));
    }
}

TEST_CASE("a link that is cut and comes back loses no line and doubles none, and the run does not notice") {
    const int cuts = std::getenv("LOCKSTEP_SOAK") ? 100 : 5;
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "steps=100;epochs=" + std::to_string(cuts)}}, {}});
    run.startFirst();
    TcpRelay relay(run.join());
    REQUIRE(valueOf(run.startOther(1, relay.address()), "type") == "ready");
    std::string followed;
    std::thread follower([&] { followed = followAll(run, 300s); });
    (void)run.pids();
    const auto descriptors = [&] { return countIn("/proc/" + std::to_string(run.agent(0)) + "/fd"); };
    const int before = descriptors();
    for (int cut = 0; cut < cuts; ++cut) {
        relay.cut();
        std::this_thread::sleep_for(200ms);
        relay.restore();
        CHECK(eventually([&] { return linksOf(run).size() == static_cast<std::size_t>(2 * cut + 3); }));
    }
    CHECK(eventually([&] { return descriptors() <= before; }));
    const RunResult result = resultOf(run.folder(0), 200s);
    follower.join();
    CHECK_MESSAGE((result.state == RunState::Done), result.reason);
    CHECK(run.copy(1) == run.log(1));
    const LineCount lines = countLines(followed);
    CHECK(lines.missing + lines.doubled + lines.damaged == 0);
    CHECK(lines.good.at(1) == result.nodeLogLines.at(1));
    CHECK(eventually([&] { return run.allGone(); }));
}

TEST_CASE("a link that falls silent is reported as lost, and resumes") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1;steps=1100"}}, {}});
    run.startFirst();
    TcpRelay relay(run.join());
    REQUIRE(valueOf(run.startOther(1, relay.address()), "type") == "ready");
    const auto pids = run.pids();
    const auto start = Steady::now();
    relay.freeze(true);
    REQUIRE(eventually([&] { return linksOf(run) == std::vector<std::string>{"up", "lost"}; }));
    lockstep::test::printFigure("a link that fell silent called lost", start, 7);
    CHECK(isAlive(pids.at(1)));
    relay.freeze(false);
    const RunResult result = resultOf(run.folder(0));
    CHECK_MESSAGE((result.state == RunState::Done), result.reason);
    CHECK(run.copy(1) == run.log(1));
    CHECK(linksOf(run) == std::vector<std::string>{"up", "lost", "up", "ended"});
}

TEST_CASE("a connection with a wrong token is refused and reported with its address; the run goes on waiting") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1;steps=2"}}, {}});
    run.startFirst();
    const std::string wrong = run.ask(1, run.request(1, run.join(), "0123456789abcdef0123456789abcdef"));
    CHECK(valueOf(wrong, "type") == "error");
    CHECK_MESSAGE(wrong.find("token is wrong") != std::string::npos, wrong);
    CHECK(eventually([&] { return hasAlert(run.log(0), "connection_refused", "127.0.0.1:"); }));
    CHECK_FALSE(std::filesystem::exists(run.folder(1).path));
    CHECK(run.log(0).find(run.token()) == std::string::npos);
    REQUIRE(valueOf(run.startOther(1), "type") == "ready");
    CHECK((resultOf(run.folder(0)).state == RunState::Done));
}

TEST_CASE("who listens on the network between two agents reads neither what the ranks report nor the token") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1;steps=20"}}, {}});
    run.startFirst();
    TcpRelay relay(run.join());
    REQUIRE(valueOf(run.startOther(1, relay.address()), "type") == "ready");
    const RunResult result = resultOf(run.folder(0));
    CHECK_MESSAGE((result.state == RunState::Done), result.reason);
    CHECK(run.copy(1) == run.log(1));
    const std::string carried = relay.carried();
    CHECK(carried.size() > run.log(1).size());
    CHECK(carried.find(run.runId()) != std::string::npos); // which secret is meant
    for (const std::string &said : {run.token(), std::string("\"type\""), std::string("steps"), std::string("hello")})
        CHECK_MESSAGE(carried.find(said) == std::string::npos, said);
}

TEST_CASE("a stranger who speaks no TLS to agent 0 is refused and reported; the run goes on waiting") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1;steps=2"}}, {}});
    run.startFirst();
    const std::string join = run.join();
    const auto address = lockstep::agent::netAddress("127.0.0.1", std::stoi(join.substr(join.rfind(':') + 1)));
    REQUIRE(address);
    const Fd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(stranger.get(), address->get(), address->length) == 0);
    REQUIRE(lockstep::agent::writeAll(stranger.get(), R"({"type":"hello","role":"agent","protocol":"1.0"})"
                                                      "\n"));
    CHECK(eventually([&] { return hasAlert(run.log(0), "connection_refused", "it is no agent of this version"); }));
    REQUIRE(valueOf(run.startOther(1), "type") == "ready");
    CHECK((resultOf(run.folder(0)).state == RunState::Done));
}

TEST_CASE("a node that never joins is named, and nothing is left of those that did") {
    const TestHome home;
    NodesRun::Options options{{1, 1, 1}, {{"FAKE_RANK", "epochs=1"}}, {}};
    options.joinLimitS = 1.5;
    NodesRun run(home, options);
    run.startFirst();
    REQUIRE(valueOf(run.startOther(1), "type") == "ready");
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Failed));
    CHECK_MESSAGE(result.reason.find("node 2 (this machine) did not join within 1 s") == 0, result.reason);
    CHECK(result.ranks.empty());
    CHECK(eventually([&] { return run.allGone(); }));
    CHECK(eventually([&] { return processesOf(home.path()) == 0; }));
    const std::string late = run.startOther(2);
    CHECK_MESSAGE(late.find("(Connection refused)") != std::string::npos, late);
}

TEST_CASE("nodes that share their home share the run's folder, and each log is written once") {
    const TestHome home;
    NodesRun::Options options{{1, 2}, {{"FAKE_RANK", "epochs=1;steps=5"}}, {}};
    options.shared = true;
    NodesRun run(home, options);
    run.startAll();
    const std::string followed = followAll(run);
    const RunResult result = resultOf(run.folder(0));
    CHECK_MESSAGE((result.state == RunState::Done), result.reason);
    CHECK(result.ranks.size() == 3);
    const LineCount lines = countLines(followed);
    CHECK(lines.missing + lines.doubled + lines.damaged == 0);
    CHECK(lines.good.at(1) == result.nodeLogLines.at(1));
    CHECK(nodesIn(run.folder(0)) == std::vector<int>{0, 1});
    CHECK(eventually([&] { return run.allGone(); }));
}

TEST_CASE("lockstep-agent run on each node is one run, found through the shared folder") {
    const TestHome home;
    const std::string id = makeRunId();
    const auto command = [&](const char *node, const char *processes) {
        return std::vector<std::string>{agentBinary(), "run",     "--nnodes",         "2",       "--node-rank", node,
                                        "--run-id",    id,        "--nproc-per-node", processes, "--interface", "lo",
                                        "--",          fakeRank()};
    };
    const Child::Environment environment = {{"FAKE_RANK", "epochs=1;steps=3;show_environment"}};
    Child second(command("1", "2"), environment);
    std::this_thread::sleep_for(300ms); // it may well come first
    Child first(command("0", "1"), environment);
    const int firstCode = first.wait(), secondCode = second.wait();
    CHECK_MESSAGE(firstCode == 0, first.errors());
    CHECK_MESSAGE(secondCode == 0, second.errors());
    const RunResult result = resultOf(runFolder(id));
    CHECK(result.ranks.size() == 3);
    const std::string last = contentsOf(runFolder(id).console(2));
    for (const char *said : {"RANK=2", "LOCAL_RANK=1", "WORLD_SIZE=3", "GLOO_SOCKET_IFNAME=lo"})
        CHECK_MESSAGE(last.find(said) != std::string::npos, last);
}

TEST_CASE("launches and stops in a row leave no process, socket, descriptor or temporary file") {
    const char *soak = std::getenv("LOCKSTEP_SOAK");
    const int rounds = soak ? 100 : 4;
    const TestHome home;
    const int descriptors = countIn("/proc/self/fd");
    for (int round = 0; round < rounds; ++round) {
        NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1000"}}, {}});
        run.startAll();
        if (round % 2 == 0)
            (void)run.pids();
        FollowClient client(run.socket(), 0);
        client.send(encode(Control{"stop", "the test"}) + "\n");
        CHECK((resultOf(run.folder(0)).state == RunState::Stopped));
        CHECK(eventually([&] { return run.allGone(); }));
        CHECK(eventually([&] { return run.socketFiles().empty(); }));
        for (int node = 0; node < 2; ++node) // only what a run's folder is to hold
            for (const auto &entry : std::filesystem::directory_iterator(run.folder(node).path)) {
                const std::string name = entry.path().filename();
                CHECK_MESSAGE((name.starts_with("node-") || name == "config.json" || name == "result.json" ||
                               name == "console" || name == "summary.json"),
                              name);
            }
    }
    CHECK(eventually([&] { return processesOf(home.path()) == 0; }));
    CHECK(countIn("/proc/self/fd") == descriptors);
    MESSAGE(rounds << " launches and stops");
}

namespace {
/// `lockstep-agent run` on two nodes that share a home: 1 + 2 fake ranks.
struct RunByHand {
    RunByHand(std::vector<std::string> options, const Child::Environment &environment,
              std::vector<std::string> program = {fakeRank()})
        : id(makeRunId()), rank(std::move(program)), first(command("0", "1", options), environment),
          second(command("1", "2", options), environment) {}
    std::vector<std::string> command(const char *node, const char *processes,
                                     const std::vector<std::string> &options) const {
        std::vector<std::string> words = {agentBinary(), "run", "--nnodes",         "2",       "--node-rank", node,
                                          "--run-id",    id,    "--nproc-per-node", processes, "--interface", "lo"};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back("--");
        words.insert(words.end(), rank.begin(), rank.end());
        return words;
    }
    int wait() {
        const int code = first.wait();
        (void)second.wait();
        return code;
    }
    [[nodiscard]] std::string log(int node) const { return contentsOf(runFolder(id).log(node)); }
    std::string id;
    std::vector<std::string> rank; ///< the ranks' command
    Child first, second;
};

int restartsReported(const std::string &log) {
    int count = 0;
    for (const AlertFrame &alert : bodiesOf<AlertFrame>(framesIn(log)))
        count += alert.kind == "restart" ? 1 : 0;
    return count;
}
} // namespace

TEST_CASE("a run that is started by hand on each node is recorded with the devices of all, and their batch") {
    for (const std::string name : {"", "mine on 1 device"}) {
        const TestHome home;
        std::vector<std::string> options;
        if (!name.empty())
            options = {"--name", name};
        RunByHand run(options, {{"FAKE_RANK", "epochs=1;steps=2"}},
                      {"lockstep-trainer", "--method=ddp", "--batch-per-device=32", "--oversubscribe"});
        CHECK_MESSAGE(run.wait() == 0, run.first.errors());
        const auto record = runRecordFromJson(contentsOf(runFolder(run.id).config()));
        REQUIRE(record);
        CHECK(record->name == (name.empty() ? "DDP on 3 devices" : name));
        CHECK(record->processes == 3);
        CHECK(record->deviceNames == std::vector<std::string>{"node0/cpu:0", "node1/cpu:0", "node1/cpu:1"});
        REQUIRE(record->config);
        CHECK(deviceCount(*record->config) == 3);
        CHECK(globalBatch(*record->config) == 3 * 32);
    }
}

TEST_CASE("a rank that dies on any node has the ranks of all nodes started again, counted once and reported once") {
    for (const char *dying : {"FAKE_RANK_0", "FAKE_RANK_2"}) {
        const TestHome home;
        RunByHand run({"--max-restarts", "2"},
                      {{"FAKE_RANK", "epochs=1;steps=40;show_environment"}, {dying, "kill_at=5;first_time"}});
        CHECK_MESSAGE(run.wait() == 0, run.first.errors());
        const RunResult result = resultOf(runFolder(run.id));
        CHECK_MESSAGE((result.state == RunState::Done), result.reason);
        REQUIRE(result.ranks.size() == 3); // as those ended that were started last
        for (const RankExit &exit : result.ranks)
            CHECK(exit.code == 0);
        CHECK(restartsReported(run.log(0)) == 1);
        CHECK(restartsReported(run.log(1)) == 0);
        CHECK(hasAlert(run.log(0), "restart", "all ranks of all nodes are started again, 1 of 2 times, since rank "));
        for (int rank = 0; rank < 3; ++rank) {
            const std::string console = contentsOf(runFolder(run.id).console(rank));
            CHECK_MESSAGE(console.find("TORCHELASTIC_RESTART_COUNT=1") != std::string::npos, console);
        }
    }
}

TEST_CASE("when no restart is left the run fails with the last cause, and nothing lives on") {
    const TestHome home;
    RunByHand run({"--max-restarts", "1"}, {{"FAKE_RANK", "epochs=1;steps=1000"}, {"FAKE_RANK_1", "kill_at=5"}});
    CHECK(run.wait() == 128 + SIGKILL);
    const RunResult result = resultOf(runFolder(run.id));
    CHECK((result.state == RunState::Failed));
    CHECK_MESSAGE(result.reason.find("rank 1 on ") == 0, result.reason);
    CHECK(restartsReported(run.log(0)) == 1);
    CHECK(eventually([&] { return processesOf(home.path()) == 0; }));
}

TEST_CASE("neither a stop nor bad arguments start ranks of several nodes again") {
    const TestHome home;
    NodesRun::Options options{
        {1, 2},
        {{"FAKE_RANK", "epochs=1;steps=1000"}, {"FAKE_RANK_2", "exit_at=3;exit=2;last_words=no such data"}},
        {}};
    options.maxRestarts = 3;
    NodesRun bad(home, options);
    bad.startAll();
    const RunResult refused = resultOf(bad.folder(0));
    CHECK(refused.exitCode == exitFailed); // only ranks of the first node can say that the run was asked for wrongly
    CHECK_MESSAGE(refused.reason.starts_with("node 1 ("), refused.reason);
    CHECK_MESSAGE(refused.reason.ends_with(") reports: no such data"), refused.reason);
    CHECK(restartsReported(bad.log(0)) == 0);
    CHECK(eventually([&] { return bad.allGone(); }));
    RunByHand stopped({"--max-restarts", "3"}, {{"FAKE_RANK", "epochs=1000"}});
    CHECK(eventually([&] { return stopped.log(1).find("\"type\":\"steps\"") != std::string::npos; }));
    Child stop({agentBinary(), "stop", stopped.id, "--by", "a test"});
    CHECK(stop.wait() == 0);
    CHECK(stopped.wait() == 130);
    CHECK(restartsReported(stopped.log(0)) == 0);
    CHECK(eventually([&] { return processesOf(home.path()) == 0; }));
}

TEST_CASE("exit code 2 of a script is a failure as any other: the ranks of all nodes are started again") {
    const TestHome home;
    RunByHand run({"--max-restarts", "1"},
                  {{"FAKE_RANK", "epochs=1;steps=1000"}, {"FAKE_RANK_2", "exit_at=3;exit=2;last_words=no such data"}});
    CHECK(run.wait() == 2);
    CHECK(restartsReported(run.log(0)) == 1);
    const RunResult result = resultOf(runFolder(run.id));
    CHECK(result.exitCode == exitFailed);
    CHECK_MESSAGE(result.reason.starts_with("rank 2 on "), result.reason);
    CHECK_MESSAGE(result.reason.ends_with(" exited with code 2: no such data"), result.reason);
}

TEST_CASE("what is unknown of a script's training time is said of a run over nodes, too") {
    const TestHome home;
    RunByHand run({}, {{"FAKE_RANK", "epochs=2;steps=5;first_epoch=5"}});
    CHECK(run.wait() == 0);
    const RunResult result = resultOf(runFolder(run.id));
    CHECK(std::ranges::any_of(result.warnings, [](const std::string &warning) {
        return warning.starts_with("the first epoch that was reported is number 5, ");
    }));
}

TEST_CASE("the cause is the rank that failed by itself, not one that lost it and was seen first, whichever node they "
          "are on") {
    const std::string lost = "exit_at=40;last_words=Gloo failed to recv: Connection closed by peer";
    const std::string own = "exit_at=9;last_words=no space is left on the device;linger_ms=600";
    for (const bool here : {false, true}) {
        const TestHome home;
        NodesRun run(home, {{1, 2},
                            {{"FAKE_RANK", "epochs=1;steps=1000"},
                             {"FAKE_RANK_0", here ? own : lost},
                             {"FAKE_RANK_2", here ? lost : own}},
                            {}});
        run.startAll();
        const RunResult result = resultOf(run.folder(0));
        CHECK((result.state == RunState::Failed));
        CHECK_MESSAGE(result.reason.find("no space is left on the device") != std::string::npos, result.reason);
        CHECK_MESSAGE(result.reason.find(here ? "rank 0 on " : "rank 2 on ") == 0, result.reason);
        CHECK(eventually([&] { return run.allGone(); }));
    }
}
