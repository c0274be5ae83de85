// SPDX-License-Identifier: MIT
// A run on several nodes in which another agent comes as a node that there is, or was, or agent 0 is another program.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "ipc/clock.h"
#include "ipc/messages.h"
#include "ipc/node_messages.h"
#include "tests/agent/nodes_run.h"
#include "trainer/agent/nodes/node_listener.h"
#include "trainer/agent/ranks/master_port.h"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {

/// As a task that is requeued, or a pod that is replaced: the next agent of the node finds nothing of this one.
void loseAgent(NodesRun &run, int node) {
    ::kill(run.agent(node), SIGKILL);
    REQUIRE(eventually([&] {
        const auto links = linksOf(run);
        return !links.empty() && links.back() == "lost";
    }));
    std::filesystem::remove_all(run.folder(node).path);
}

constexpr char tokenOfAll[] = "0123456789abcdef0123456789abcdef";

/// `lockstep-agent run` as node `node` of two, with a home of its own.
class CommandOfNode {
public:
    CommandOfNode(const TestHome &home, std::string name, int node, const std::string &id, int port,
                  const std::string &ranks)
        : m_home(home.path() + "/" + name),
          m_child(command(home, node, id, port), {{"LOCKSTEP_HOME", m_home}, {"FAKE_RANK", ranks}}) {}
    [[nodiscard]] RunFolder folder(const std::string &id) const { return {m_home + "/runs/" + id}; }
    Child &child() { return m_child; }

private:
    static std::vector<std::string> command(const TestHome &home, int node, const std::string &id, int port) {
        const std::string token = home.path() + "/token";
        if (!std::filesystem::exists(token))
            std::ofstream(token) << tokenOfAll << '\n';
        return {
            agentBinary(),  "run",     "--nnodes",     "2",  "--node-rank",      std::to_string(node),
            "--run-id",     id,        "--interface",  "lo", "--join",           "127.0.0.1:" + std::to_string(port),
            "--token-file", token,     "--join-limit", "12", "--nproc-per-node", "1",
            "--",           fakeRank()};
    }
    std::string m_home;
    Child m_child;
};

int freePort() {
    const auto bound = agent::bindMasterPort("127.0.0.1", 0);
    REQUIRE(bound);
    return bound->port;
}

} // namespace

TEST_CASE("a run does not start while a node that had joined is lost, and says which") {
    const TestHome home;
    NodesRun::Options options{{1, 1, 1}, {{"FAKE_RANK", "epochs=1;steps=5"}}, {}};
    options.joinLimitS = 10;
    NodesRun run(home, options);
    run.startFirst();
    REQUIRE(valueOf(run.startOther(1), "type") == "ready");
    loseAgent(run, 1);
    REQUIRE(valueOf(run.startOther(2), "type") == "ready");
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Failed));
    CHECK_MESSAGE(result.reason.find("node 1 (") == 0, result.reason);
    CHECK_MESSAGE(result.reason.find("lost after it had joined) did not join within") != std::string::npos,
                  result.reason);
    CHECK_MESSAGE(result.reason.find("node 2") == std::string::npos, result.reason);
    CHECK(result.ranks.empty());
    CHECK(eventually([&] { return run.allGone(); }));
}

TEST_CASE("an agent that takes the place of one that was lost before the ranks start is copied from its first line") {
    const TestHome home;
    NodesRun run(home, {{1, 1, 1}, {{"FAKE_RANK", "epochs=1;steps=20"}}, {}});
    run.startFirst();
    REQUIRE(valueOf(run.startOther(1), "type") == "ready");
    REQUIRE(eventually([&] { return std::ranges::count(run.copy(1), '\n') > 3; })); // of the first agent
    loseAgent(run, 1);
    REQUIRE(valueOf(run.startOther(1), "type") == "ready");
    REQUIRE(valueOf(run.startOther(2), "type") == "ready");
    const RunResult result = resultOf(run.folder(0));
    CHECK_MESSAGE((result.state == RunState::Done), result.reason);
    CHECK(run.copy(1) == run.log(1));
    const LineCount lines = countLines(run.copy(1));
    CHECK(lines.missing + lines.doubled + lines.damaged == 0);
    CHECK(result.nodeLogLines.at(1) == lines.good.at(1));
    CHECK(eventually([&] { return run.allGone(); }));
}

TEST_CASE("an agent that comes in the place of one whose ranks had been started is refused, and the run is not called "
          "done") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1;steps=500"}}, {}});
    run.startAll();
    (void)run.pids();
    loseAgent(run, 1);
    const std::string answer = run.startOther(1);
    CHECK(valueOf(answer, "type") == "error");
    CHECK_MESSAGE(answer.find("refused: the agent that had joined as node 1 (") != std::string::npos, answer);
    CHECK_MESSAGE(answer.find("start the whole run again") != std::string::npos, answer);
    CHECK_FALSE(std::filesystem::exists(run.folder(1).path));
    CHECK(hasAlert(run.log(0), "connection_refused", "another one can't take its place"));
    const RunResult result = resultOf(run.folder(0));
    CHECK((result.state == RunState::Failed));
    CHECK_MESSAGE(result.reason.find("did not come back") != std::string::npos, result.reason);
}

TEST_CASE("a second host with the number of a node that is there is refused, and costs that node nothing") {
    const TestHome home;
    NodesRun run(home, {{1, 1}, {{"FAKE_RANK", "epochs=1;steps=500"}}, {}});
    run.startAll();
    (void)run.pids();
    const std::string answer = run.ask(7, run.request(1, run.join(), run.token())); // from a home of its own
    CHECK(valueOf(answer, "type") == "error");
    CHECK_MESSAGE(answer.find("another agent has joined as node 1 (") != std::string::npos, answer);
    const RunResult result = resultOf(run.folder(0));
    CHECK_MESSAGE((result.state == RunState::Done), result.reason);
    CHECK(linksOf(run) == std::vector<std::string>{"up", "ended"});
    CHECK(run.copy(1) == run.log(1));
}

TEST_CASE("an agent 0 that is started anew refuses a node whose ranks its predecessor had started, and they end") {
    const TestHome home;
    const std::string id = makeRunId();
    const int port = freePort();
    CommandOfNode first(home, "first", 0, id, port, "epochs=1000");
    CommandOfNode other(home, "other", 1, id, port, "epochs=1000");
    const RunFolder there = other.folder(id);
    REQUIRE(eventually([&] { return contentsOf(there.log(1)).find("\"type\":\"steps\"") != std::string::npos; }));
    first.child().kill(SIGKILL);
    first.child().wait();
    std::this_thread::sleep_for(500ms); // its keeper has gone too
    CommandOfNode anew(home, "anew", 0, id, port, "epochs=1000");
    CHECK(other.child().wait() == 1);
    const RunResult result = resultOf(there);
    CHECK((result.state == RunState::Failed));
    CHECK_MESSAGE(result.reason.find("were started by another agent 0") != std::string::npos, result.reason);
    CHECK(hasAlert(contentsOf(there.log(1)), "node_refused"));
    CHECK(anew.child().wait() == 1);
    const RunResult here = resultOf(anew.folder(id));
    CHECK((here.state == RunState::Failed));
    CHECK(here.ranks.empty());
}

TEST_CASE("a node refuses ranks that are none of the run's, and starts none") {
    using What = NodeMessage::What;
    const TestHome home;
    const SystemClock clock;
    agent::EventLoop loop;
    agent::NodeListener::Options options;
    options.address = "127.0.0.1";
    options.port = freePort();
    options.token = tokenOfAll;
    options.runId = makeRunId();
    auto listener = agent::NodeListener::open(loop, clock, options);
    REQUIRE(listener);

    std::shared_ptr<agent::LineSocket> node;
    std::string reason;
    const auto onLine = [&](std::string_view line) {
        const auto message = decodeNodeMessage(line);
        if (!isNodeMessage(line) || !message)
            return;
        NodeMessage order;
        if (message->what == What::Join) {
            order.what = What::Go;
            order.number = 0;
            order.firstRank = -5;
            order.worldSize = 3;
            node->send(encode(order) + "\n");
        } else if (message->what == What::Failed) {
            reason = message->reason;
        } else if (message->what == What::Over) {
            order.what = What::End;
            order.state = "failed";
            order.exitCode = exitFailed;
            node->send(encode(order) + "\n");
        }
    };
    (*listener)->start({[&](int, const Hello &, std::shared_ptr<agent::LineSocket> socket) {
                            node = std::move(socket);
                            node->setHandlers({onLine, [&](const std::string &) { loop.quit(); }, {}});
                            Hello answer;
                            answer.role = "agent";
                            answer.run = options.runId;
                            answer.node = 0;
                            answer.live = true;
                            node->send(encode(answer) + "\n");
                        },
                        [](const std::string &) {}});
    CommandOfNode other(home, "other", 1, options.runId, options.port, "epochs=1;steps=5");
    loop.after(lockstep::test::hangLimit, [&] { loop.quit(); });
    loop.run();
    CHECK_MESSAGE(reason.ends_with(": agent 0 asks for ranks -5 to -5 of 3 here; "
                                   "use one version of Lockstep on all nodes"),
                  reason);
    CHECK(other.child().wait() == 1);
    CHECK(resultOf(other.folder(options.runId)).ranks.empty());
    CHECK(contentsOf(other.folder(options.runId).log(1)).find("\"rank\":") == std::string::npos);
}
