// SPDX-License-Identifier: MIT
// Viewers come, go, lag and die; the log reaches each byte for byte and the ranks never notice.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "tests/agent/agent_process.h"
#include "tests/agent/follow_client.h"
#include "trainer/agent/log/run_journal.h"

using namespace lockstep;
using namespace std::chrono_literals;

TEST_CASE("five followers from five numbers and one that never reads: each gets the log byte for byte") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=3;steps=60;step_ms=5;flood=3000"}});
    (void)rankPids(run.folder, 2);
    const std::vector<std::uint64_t> from = {0, 1, 257, 4000, 1'000'000};
    const FollowClient neverReads(run.socket, 0);
    std::vector<std::unique_ptr<FollowClient>> followers;
    for (const std::uint64_t seq : from)
        followers.push_back(std::make_unique<FollowClient>(run.socket, seq));
    std::vector<std::future<std::string>> received;
    for (auto &follower : followers)
        received.push_back(std::async(std::launch::async, [&follower] { return follower->readToEnd(); }));
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Done));
    const std::string log = contentsOf(run.folder.log(0));
    CHECK(static_cast<std::uint64_t>(std::count(log.begin(), log.end(), '\n')) == result.logLines);
    for (std::size_t i = 0; i < from.size(); ++i) {
        CAPTURE(from[i]);
        const bool same = received[i].get() == logFrom(log, from[i]);
        CHECK(same);
        CHECK(followers[i]->closedByAgent());
        CHECK(followers[i]->agent().live);
        CHECK(followers[i]->agent().run == run.runId);
    }
    CHECK(eventually([&] { return !isAlive(run.agent); })); // although one never read
}

TEST_CASE("a follower that starts to read late still gets everything") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1;steps=200;step_ms=10;flood=20000"}});
    FollowClient late(run.socket, 0);
    std::this_thread::sleep_for(1500ms);
    const std::string received = late.readToEnd();
    (void)resultOf(run.folder);
    const bool same = received == contentsOf(run.folder.log(0));
    CHECK(same);
}

TEST_CASE("kill -9 of a follower changes nothing for the ranks or for the other followers") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=2;steps=60;step_ms=10"}});
    (void)rankPids(run.folder, 2);
    FollowClient other(run.socket, 0);
    Child viewer({agentBinary(), "attach", run.runId, "--from-seq", "0"});
    CHECK(viewer.readLine().value_or("").starts_with("{\"type\":\"header\""));
    viewer.kill(SIGKILL);
    const std::string received = other.readToEnd();
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Done));
    const bool same = received == contentsOf(run.folder.log(0));
    CHECK(same);
    CHECK(bodiesOf<StepsFrame>(framesOf(run.folder)).size() == 2 * 2 * 60); // no step lost
}

TEST_CASE("attach bridges stdin and stdout: the viewer's hello, the lines, and a stop the other way") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000"}});
    (void)rankPids(run.folder, 1);
    Child bridge({agentBinary(), "attach", run.runId});
    Hello hello;
    hello.role = "follower";
    hello.nextSeq = 1;
    bridge.write(encode(hello) + "\n");
    const auto answer = decodeHello(bridge.readLine().value_or(""));
    REQUIRE(answer);
    CHECK(answer->role == "agent");
    CHECK(answer->live);
    const std::string first = bridge.readLine().value_or("");
    CHECK(agent::seqOfSealedLine(first) == 1);
    bridge.write(encode(Control{"stop", "a viewer on another host"}) + "\n");
    const RunResult result = resultOf(run.folder);
    CHECK((result.state == RunState::Stopped));
    CHECK(result.reason == "stopped by a viewer on another host");
    const std::string rest = bridge.readAll();
    const bool same = first + "\n" + rest == logFrom(contentsOf(run.folder.log(0)), 1);
    CHECK(same);
    CHECK(bridge.wait() == 0);
}

TEST_CASE("a trace asked from a shell has reached the ranks when the command is done, every time") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1000"}});
    (void)rankPids(run.folder, 2);
    for (int steps = 1; steps <= 10; ++steps) {
        Child asked({agentBinary(), "trace", run.runId, std::to_string(steps), "--by", "a test"});
        CAPTURE(steps);
        CHECK(asked.wait() == 0);
        const std::string reported =
            "a trace of " + std::to_string(steps) + " steps, asked by a test: 2 ranks record it";
        CHECK(eventually([&] { return contentsOf(run.folder.log(0)).find(reported) != std::string::npos; }));
    }
    CHECK(Child({agentBinary(), "stop", run.runId}).wait() == 0);
    Child late({agentBinary(), "trace", run.runId, "3"});
    CHECK(late.wait() == 1);
    CHECK(late.errors().find("does not run") != std::string::npos);
}

TEST_CASE("of an ended run, and of one whose agent was killed, attach speaks for the log") {
    const TestHome home;
    for (const bool killed : {false, true}) {
        CAPTURE(killed);
        const ServedRun run = serve(1, {{"FAKE_RANK", killed ? "epochs=1000" : "epochs=1"}});
        (void)rankPids(run.folder, 1);
        if (killed)
            ::kill(run.agent, SIGKILL);
        else
            (void)resultOf(run.folder);
        REQUIRE(eventually([&] { return !isAlive(run.agent); })); // it lives on for a moment after its result
        const std::string log = contentsOf(run.folder.log(0));
        Child bridge({agentBinary(), "attach", run.runId});
        Hello hello;
        hello.role = "follower";
        hello.nextSeq = 2;
        bridge.write(encode(hello) + "\n");
        const auto answer = decodeHello(bridge.readLine().value_or(""));
        REQUIRE(answer);
        CHECK_FALSE(answer->live);
        CHECK(answer->run == run.runId);
        CHECK(bridge.readAll() == logFrom(log, 2));
        CHECK(bridge.wait() == 0);
        CHECK(answer->nextSeq == static_cast<std::uint64_t>(std::count(log.begin(), log.end(), '\n')));

        Child printed({agentBinary(), "attach", run.runId, "--from-seq", "0"});
        CHECK(printed.readAll() == log);
        CHECK(printed.wait() == 0);
    }
}

TEST_CASE("a follower of another major version learns what to upgrade, one that babbles is closed, the run goes on") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=2;steps=60"}});
    (void)rankPids(run.folder, 1);
    for (const std::string &words :
         {R"({"type":"hello","protocol":"9.0","role":"follower","next_seq":0})" + std::string("\n"),
          std::string("GET / HTTP/1.1\n"), std::string(100'000, 'x')}) {
        auto fd = connectUnix(run.socket, false);
        REQUIRE(fd);
        (void)!::write(fd->get(), words.data(), words.size());
        std::string answer;
        char bytes[4096];
        for (ssize_t n = 1; n > 0;) {
            n = ::read(fd->get(), bytes, sizeof bytes);
            answer.append(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
        }
        CHECK(answer.starts_with("{\"type\":\"error\",\"message\":"));
    }
    CHECK((resultOf(run.folder).state == RunState::Done));
}

TEST_CASE("status prints state, record and result as one line") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000"}});
    (void)rankPids(run.folder, 1);
    Child running({agentBinary(), "status", run.runId});
    const std::string before = running.readAll();
    CHECK(before.find("\"state\":\"running\"") != std::string::npos);
    CHECK(before.find("\"result\":null") != std::string::npos);
    CHECK(before.find("\"method\":\"baseline\"") != std::string::npos);
    CHECK(std::count(before.begin(), before.end(), '\n') == 1);
    Child({agentBinary(), "stop", run.runId}).wait();
    Child over({agentBinary(), "status", run.runId});
    const std::string after = over.readAll();
    CHECK(after.find("\"state\":\"finished\"") != std::string::npos);
    CHECK(after.find("\"exit_code\":130") != std::string::npos);
}

TEST_CASE("the device frames measure the viewer, too") {
    const TestHome home;
    const ServedRun run = serve(1, {{"FAKE_RANK", "epochs=1000"}});
    FollowClient viewer(run.socket, 0);
    const bool seen = eventually([&] {
        const auto frames = bodiesOf<DeviceFrame>(framesOf(run.folder));
        return std::any_of(frames.begin(), frames.end(), [](const DeviceFrame &frame) {
            return frame.viewers.size() == 1 && frame.viewers[0].pid == ::getpid() && frame.viewers[0].cpuCores;
        });
    });
    CHECK(seen);
}
