// SPDX-License-Identifier: MIT
// What agent 0 takes from the agent of another node, and what not.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ipc/clock.h"
#include "ipc/crc32c.h"
#include "ipc/log.h"
#include "tests/agent/agent_process.h"
#include "trainer/agent/nodes/remote_node.h"
#include "trainer/agent/nodes/sound_reports.h"
#include "trainer/agent/session/trace_collection.h"

using namespace lockstep;
using namespace lockstep::agent;
using namespace std::chrono_literals;

namespace {

class SetClock final : public Clock {
public:
    std::int64_t ns = 1'000'000'000'000;
    [[nodiscard]] std::int64_t monoNs() const override { return ns; }
    [[nodiscard]] std::int64_t wallUs() const override { return ns / 1000; }
};

/// Agent 0's node 1, and the other end of its link.
class LinkedNode {
public:
    explicit LinkedNode(const NodeMessage &join = joinOfTwoRanks()) {
        m_node.setHandlers({[this] { ++joins; }, [this](const NodeMessage &failed) { failures.push_back(failed); },
                            [] {}, [this](const LinkFrame &link) { links.push_back(link.link); },
                            [this](const RankExit &exit) {
                                exits.push_back(exit.rank);
                                lastExit = exit;
                            },
                            [this](int rank, const Frame &) { frames.push_back(rank); },
                            [this](const TraceInbox::Whole &trace) { traces.push_back(trace.text); },
                            [this](const Control &) { ++controls; },
                            [this](const std::string &message) { oversteps.push_back(message); }});
        connect(join);
        log(R"({"type":"header","mono_ns":1,"wall_us":1,"format":1,"run":"r","host":"hostB"})");
        hear();
        if (m_node.log())
            go(0);
    }
    /// For the first time or again.
    void connect(const NodeMessage &join) {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
        m_end = Fd(ends[1]);
        Hello hello;
        hello.agent = "a";
        hello.name = "hostB";
        REQUIRE(m_node.connect(LineSocket::open(m_loop, clock, Fd(ends[0]), {}), hello));
        say(join);
    }
    static NodeMessage joinOfTwoRanks() {
        NodeMessage join;
        join.what = NodeMessage::What::Join;
        join.processes = 2;
        join.devices = {"node1/cpu:0", "GPU-1"};
        return join;
    }
    RemoteNode &node() { return m_node; }
    /// Ranks 1 and 2 are its.
    void go(int number) {
        NodeMessage go;
        go.what = NodeMessage::What::Go;
        go.number = number;
        go.firstRank = 1;
        m_node.sendGo(go, 2);
    }
    void ask() {
        NodeMessage trace;
        trace.what = NodeMessage::What::Trace;
        trace.steps = 5;
        m_node.send(trace);
    }
    void say(const NodeMessage &message) { write(encode(message)); }
    void log(const std::string &frame) { write(sealLine(frame, 1, m_seq++)); }
    void write(const std::string &line) { REQUIRE(::send(m_end.get(), (line + "\n").data(), line.size() + 1, 0) > 0); }
    void trace(int rank, const std::string &text) {
        NodeMessage piece;
        piece.what = NodeMessage::What::TracePart;
        piece.rank = rank;
        piece.offset = 0;
        piece.total = text.size();
        piece.crc = crcText(crc32c(text));
        piece.text = text;
        say(piece);
    }
    /// Takes what was sent, and counts the traces that it says it has kept.
    void hear() {
        EventLoop::Token timer = m_loop.after(30ms, [this] { m_loop.quit(); });
        m_loop.run();
        m_loop.cancel(timer);
        char bytes[65536];
        for (ssize_t got = 0; (got = ::recv(m_end.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0;)
            m_heard.append(bytes, static_cast<std::size_t>(got));
    }
    [[nodiscard]] int kept() const {
        int count = 0;
        for (auto at = m_heard.find("trace_kept"); at != std::string::npos; at = m_heard.find("trace_kept", at + 1))
            ++count;
        return count;
    }
    [[nodiscard]] std::string copy() const {
        std::string lines;
        LogWindow::Position from;
        m_node.window()->read(from, lines, 1 << 20);
        return lines;
    }
    [[nodiscard]] std::uint64_t sent() const { return m_seq; }
    [[nodiscard]] const std::string &heard() const { return m_heard; }

    std::vector<int> exits, frames;
    std::vector<NodeMessage> failures;
    RankExit lastExit;
    std::vector<std::string> traces, oversteps, links;
    int joins = 0, controls = 0;
    SetClock clock;

private:
    TestHome m_home;
    EventLoop m_loop;
    LogDisk m_disk;
    LogFileReader m_reader;
    RemoteNode m_node{clock, m_disk, m_reader, RunFolder{m_home.path()}, 1, "node 1"};
    Fd m_end;
    std::uint64_t m_seq = 0;
    std::string m_heard;
};

std::string exitOf(int rank) {
    return R"({"type":"exit","rank":)" + std::to_string(rank) +
           R"(,"mono_ns":1,"wall_us":1,"pid":7,"host":"hostB","code":0})";
}

} // namespace

TEST_CASE(
    "a node's agent speaks for that node's ranks and for itself; of others it is told once, and none of it counts") {
    LinkedNode linked;
    for (const int rank : {0, 1, 2, 3})
        for (int again = 0; again < 3; ++again)
            linked.log(exitOf(rank));
    linked.log(R"({"type":"eval","rank":0,"rseq":1,"mono_ns":2,"wall_us":2,"epoch":3,"accuracy":0.99,"samples":10})");
    linked.log(
        R"({"rank": 0, "mono_ns": 2, "wall_us": 2, "type": "eval", "epoch": 3, "accuracy": 0.98, "samples": 10})");
    linked.log(
        R"({"type": "eval", "rank": 1, "rseq": 1, "mono_ns": 2, "wall_us": 2, "epoch": 3, "accuracy": 0.5, "samples": 10})");
    linked.log(R"({"type":"heartbeat","rank":0,"mono_ns":3,"wall_us":3,"at":{"step":3,"collectives":5}})");
    linked.log(R"({"type":"heartbeat","rank":2,"rseq":1,"mono_ns":3,"wall_us":3,"at":{"step":3,"collectives":5}})");
    linked.log(R"({"type":"heartbeat","mono_ns":3,"wall_us":3})");
    linked.log(R"({"type":"log","mono_ns":4,"wall_us":4,"level":"info","source":"agent","message":"its own"})");
    linked.hear();
    CHECK(linked.exits == std::vector<int>{1, 2});
    CHECK(linked.frames == std::vector<int>{2});
    const std::string copy = linked.copy();
    CHECK(copy.find("0.99") == std::string::npos);
    CHECK(copy.find("0.98") == std::string::npos);
    CHECK(copy.find("\"rank\":3") == std::string::npos);
    CHECK(copy.find("\"accuracy\": 0.5") != std::string::npos);
    CHECK(copy.find("its own") != std::string::npos);
    CHECK(linked.node().logLines() == linked.sent());
    REQUIRE(linked.oversteps.size() == 1);
    CHECK(linked.oversteps[0] ==
          "node 1 (hostB) reports for rank 0, and it has ranks 1 to 2; what it says of others is left out");

    linked.go(1); // started again, they end again
    linked.log(exitOf(1));
    linked.log(exitOf(0));
    linked.hear();
    CHECK(linked.exits == std::vector<int>{1, 2, 1});
    CHECK(linked.node().logLines() == linked.sent());
    CHECK(linked.oversteps.size() == 1);
    CHECK(linked.node().connected());
}

TEST_CASE("a node's last rank ended by agent 0's clock when it did by its own, and never later than its exit came") {
    LinkedNode linked;
    constexpr std::int64_t second = 1'000'000'000, ahead = 5 * second;
    const auto endsAt = [&](int rank, std::int64_t theirNs) {
        linked.log(R"({"type":"exit","rank":)" + std::to_string(rank) + R"(,"mono_ns":)" + std::to_string(theirNs) +
                   R"(,"wall_us":1,"pid":7,"host":"hostB","code":0})");
        linked.hear();
    };
    CHECK_FALSE(linked.node().lastExitNs());
    endsAt(1, 1);
    CHECK(linked.node().lastExitNs() == linked.clock.ns); // its clock is unknown
    NodeMessage pong;
    pong.what = NodeMessage::What::Pong;
    pong.number = 1;
    pong.wallUs = linked.clock.ns / 1000;
    pong.monoNs = linked.clock.ns + ahead;
    linked.say(pong);
    endsAt(2, linked.clock.ns + ahead - 2 * second);
    CHECK(linked.node().lastExitNs() == linked.clock.ns - 2 * second);
    linked.go(1);
    endsAt(1, linked.clock.ns + 100 * second);
    CHECK(linked.node().lastExitNs() == linked.clock.ns);
}

TEST_CASE("a node's agent sends nothing that a rank or agent 0 alone can say, and samples of its own ranks only") {
    LinkedNode linked;
    const std::string times = R"(,"mono_ns":1,"wall_us":1,)", epoch = times + R"("epoch":1,)",
                      steps = R"("first_step":0,"last_step":0,)";
    linked.log(R"({"type":"steps")" + epoch + steps + R"("count":1,"samples":1,"phases":{}})");
    linked.log(R"({"type":"epoch")" + epoch + R"("duration_s":1,"samples":1,"steps":1,"start_mono_ns":1,"phases":{}})");
    linked.log(R"({"type":"eval")" + epoch + R"("accuracy":0.99,"samples":1,"duration_s":1})");
    linked.log(R"({"type":"comm")" + epoch + steps + R"("exposed_s":0,"wait_s":0,"hidden_s":0})");
    linked.log(R"({"type":"exit")" + times + R"("pid":7,"host":"hostB","code":1})");
    linked.log(R"({"type":"link")" + times + R"("of_node":2,"link":"lost"})");
    linked.log(R"({"type":"alert")" + times + R"("severity":"warning","kind":"restart","message":"all ranks"})");
    for (const char *rank : {"", R"(,"rank":1)"})
        linked.log(R"({"type":"header")" + (rank + times) + R"("format":99,"run":"r","host":"hostB"})");
    const auto sample = [&](int rank) {
        linked.log(R"({"type":"device")" + times + R"("interval_s":0.2,"devices":[],"processes":[{"rank":)" +
                   std::to_string(rank) + R"(,"pid":7,"cpu_cores":1}]})");
    };
    sample(0);
    linked.hear();
    CHECK(std::ranges::count(linked.copy(), '\n') == 1); // its header
    CHECK(linked.node().logLines() == linked.sent());
    CHECK(linked.exits.empty());
    REQUIRE(linked.oversteps.size() == 2);
    CHECK(linked.oversteps[0] ==
          "node 1 (hostB) reports 'steps' without a rank, which a further node may not; such lines are left out");
    CHECK(linked.oversteps[1] ==
          "node 1 (hostB) reports for rank 0, and it has ranks 1 to 2; what it says of others is left out");

    sample(1);
    linked.log(R"({"type":"alert","rank":2)" + times + R"("severity":"warning","kind":"restart","message":"one"})");
    linked.log(R"({"type":"alert")" + times + R"("severity":"warning","kind":"disk_low","message":"its own"})");
    linked.hear();
    CHECK(std::ranges::count(linked.copy(), '\n') == 1 + 3);
    CHECK(linked.node().connected());
}

TEST_CASE("a node's agent reports for devices that are named after its node or that it has listed, and for no others") {
    LinkedNode linked;
    const std::string times = R"(,"mono_ns":1,"wall_us":1,)";
    const auto report = [&](const std::string &device) {
        linked.log(R"({"type":"device")" + times + R"("interval_s":0.2,"devices":[{"device":")" + device +
                   R"(","utilization":0.01}],"processes":[]})");
        linked.log(R"({"type":"epoch","rank":1)" + times +
                   R"("epoch":1,"duration_s":1,"samples":1,"steps":1,"start_mono_ns":1,"phases":{},"devices":[)"
                   R"({"device":")" +
                   device + R"(","utilization_mean":0.01}]})");
    };
    for (const char *other : {"node0/cpu:0", "node11/cpu:0", "cpu:0", "GPU-2"})
        report(other);
    linked.hear();
    CHECK(std::ranges::count(linked.copy(), '\n') == 1); // its header
    CHECK(linked.node().logLines() == linked.sent());
    CHECK(linked.oversteps ==
          std::vector<std::string>{"node 1 (hostB) reports for device node0/cpu:0, which is not one of its own; such "
                                   "lines are left out"});
    for (const char *own : {"node1/cpu:0", "node1/cpu:7", "GPU-1"})
        report(own);
    linked.hear();
    CHECK(std::ranges::count(linked.copy(), '\n') == 1 + 3 * 2);
    CHECK(linked.frames.empty());
    CHECK(linked.node().connected());
}

TEST_CASE("a node that lists more devices or interfaces than a node may have, or another node's, is sent away with the "
          "reason") {
    struct Case {
        NodeMessage join = LinkedNode::joinOfTwoRanks();
        std::string why = {};
    };
    Case devices, recorded, interfaces, foreign;
    devices.join.devices.resize(mostDevicesOfNode + 1);
    devices.why = "it lists 1025 devices, and a node may have 1024; start it with fewer of them";
    recorded.join.machine.emplace().devices.resize(2000);
    recorded.why = "it lists 2000 devices, and a node may have 1024; start it with fewer of them";
    interfaces.join.machine.emplace().interfaces.resize(2000);
    interfaces.why = "it lists 2000 interfaces, and a node may have 1024; start it with fewer of them";
    foreign.join.devices.emplace_back("node0/cpu:0");
    foreign.why = "it lists node0/cpu:0, which is named after another node; use one version of Lockstep on all nodes";
    for (const Case &each : {devices, recorded, interfaces, foreign}) {
        CAPTURE(each.why);
        LinkedNode linked(each.join);
        CHECK(linked.joins == 0);
        CHECK_FALSE(linked.node().log());
        CHECK_FALSE(linked.node().join());
        CHECK(linked.oversteps == std::vector<std::string>{"node 1 (hostB) can't join: " + each.why});
        CHECK(linked.heard().find(R"("what":"end")") != std::string::npos);
        CHECK(linked.heard().find("agent 0 does not take node 1 (hostB): " + each.why) != std::string::npos);
    }
    NodeMessage most = LinkedNode::joinOfTwoRanks();
    most.devices.clear();
    for (std::size_t i = 0; i < mostDevicesOfNode; ++i)
        most.devices.push_back("node1/cpu:" + std::to_string(i));
    CHECK(LinkedNode(most).joins == 1);
}

TEST_CASE("a node that joins again keeps the ranks, devices and folder that it joined with first") {
    LinkedNode linked;
    linked.connect(LinkedNode::joinOfTwoRanks());
    linked.hear();
    CHECK(linked.joins == 2);
    CHECK(linked.oversteps.empty());
    NodeMessage more = LinkedNode::joinOfTwoRanks();
    more.processes = 3;
    more.devices.emplace_back("GPU-2");
    linked.connect(more);
    linked.hear();
    CHECK(linked.joins == 3);
    REQUIRE(linked.node().join());
    CHECK(linked.node().join()->processes == 2);
    CHECK(linked.node().join()->devices == LinkedNode::joinOfTwoRanks().devices);
    CHECK(linked.oversteps ==
          std::vector<std::string>{
              "node 1 (hostB) joins again with 3 ranks instead of 2; what it joined with first counts"});
}

TEST_CASE("a failure counts for a node's own ranks only, and a reason that names none of them says who reports it") {
    LinkedNode linked;
    const std::string own = "rank 2 on hostB exited with code 3", other = "rank 0 on hostA exited with code 3",
                      report = "node 1 (hostB) reports: ";
    NodeMessage message;
    message.what = NodeMessage::What::Failed;
    const auto failsFor = [&](std::optional<int> rank, const std::string &reason) {
        message.rank = rank;
        message.reason = reason;
        linked.failures.clear();
        linked.say(message);
        linked.hear();
        return linked.failures.empty() ? std::string() : linked.failures.back().reason;
    };
    CHECK(failsFor(0, other).empty());
    CHECK(linked.oversteps ==
          std::vector<std::string>{
              "node 1 (hostB) reports for rank 0, and it has ranks 1 to 2; what it says of others is left out"});
    CHECK(failsFor(2, own) == own);
    CHECK(failsFor(2, other) == report + other);
    CHECK(failsFor({}, "rank 10 on hostA is broken") == report + "rank 10 on hostA is broken");
    message.what = NodeMessage::What::Over;
    message.state = "failed";
    CHECK(failsFor({}, other).empty());
    REQUIRE(linked.node().over());
    CHECK(linked.node().over()->reason == report + other);
}

TEST_CASE("a failure or an end that a node reports never reads as success") {
    LinkedNode linked;
    NodeMessage failed;
    failed.what = NodeMessage::What::Failed;
    const auto fails = [&](int exitCode, std::optional<int> code, std::optional<int> signal) {
        failed.exitCode = exitCode;
        failed.code = code;
        failed.signal = signal;
        linked.say(failed);
        linked.hear();
        REQUIRE_FALSE(linked.failures.empty());
        const NodeMessage &taken = linked.failures.back();
        return std::tuple(taken.exitCode, taken.code, taken.signal);
    };
    using Codes = std::tuple<std::optional<int>, std::optional<int>, std::optional<int>>;
    CHECK((fails(0, 0, {}) == Codes(exitFailed, exitFailed, std::nullopt)));
    CHECK((fails(256, 256, 128) == Codes(exitFailed, exitFailed, std::nullopt)));
    CHECK((fails(-256, {}, -128) == Codes(exitFailed, std::nullopt, std::nullopt)));
    CHECK((fails(0, {}, std::numeric_limits<int>::max()) == Codes(exitFailed, std::nullopt, std::nullopt)));
    CHECK((fails(exitBadArguments, 42, 9) == Codes(exitBadArguments, 42, 9)));

    NodeMessage over;
    over.what = NodeMessage::What::Over;
    const auto ends = [&](const std::string &state, int exitCode) {
        over.state = state;
        over.exitCode = exitCode;
        linked.say(over);
        linked.hear();
        REQUIRE(linked.node().over());
        return std::pair(linked.node().over()->state, linked.node().over()->exitCode.value_or(-1));
    };
    using End = std::pair<std::string, int>;
    CHECK((ends("failed", 0) == End("failed", exitFailed)));
    CHECK((ends("failed", exitBadArguments) == End("failed", exitFailed)));
    CHECK((ends("stopped", 0) == End("stopped", exitStopped)));
    CHECK((ends("training", 0) == End("failed", exitFailed)));
    CHECK((ends("fine", 0) == End("failed", exitFailed)));
    CHECK((ends("done", 7) == End("done", exitDone)));
}

TEST_CASE("of the host in a rank's end only its first 200 bytes are kept, whole characters, and its signal is named by "
          "its number") {
    LinkedNode linked;
    std::string host = "a", signal;
    for (int i = 0; i < 15'000; ++i) {
        host += "é";
        signal += "S";
    }
    linked.log(R"({"type":"exit","rank":1,"mono_ns":1,"wall_us":1,"pid":7,"host":")" + host +
               R"(","signal":9,"signal_name":")" + signal + R"("})");
    linked.hear();
    REQUIRE(linked.exits == std::vector<int>{1});
    CHECK(linked.lastExit.host == host.substr(0, longestReportedName - 1));
    CHECK(linked.lastExit.signalName == "SIGKILL");
    CHECK(linked.lastExit.signal == 9);
}

TEST_CASE("what another node says that its ranks have made counts only where it is less, and never as more than here") {
    NodeMessage gone;
    const auto lesser = [&](std::optional<int> epochs, std::optional<std::int64_t> steps) {
        gone.epochs = epochs;
        gone.steps = steps;
        const EpochNumbers::Made made = lesserMade({3, 24}, gone);
        return std::pair(made.epochs, made.steps);
    };
    using Made = std::pair<int, std::int64_t>;
    CHECK((lesser(2, 16) == Made(2, 16)));
    CHECK((lesser(3, 1) == Made(3, 24)));
    CHECK((lesser(1000, 9) == Made(3, 24)));
    CHECK((lesser(2, 9'000'000'000'000'000'000) == Made(2, 24)));
    CHECK((lesser(2, -9'000'000'000'000'000'000) == Made(2, 0)));
    CHECK((lesser(-5, 16) == Made(0, 16)));
    CHECK((lesser({}, {}) == Made(0, 0)));
}

TEST_CASE("a line that its own reader takes for another node's ends the link as a damaged one does") {
    LinkedNode linked;
    const std::string body = R"({"type":"state","mono_ns":1,"wall_us":1,"state":"failed","node":0,"\"node":1,"seq":1)";
    linked.write(body + R"(,"crc":")" + crcText(crc32c(body)) + R"("})");
    linked.hear();
    CHECK_FALSE(linked.node().connected());
    CHECK(linked.copy().find("failed") == std::string::npos);
}

TEST_CASE("a trace is taken once a rank for each start and each request, and again after a cut it is only confirmed") {
    LinkedNode linked;
    linked.trace(1, "of its command");
    linked.hear();
    CHECK(linked.traces == std::vector<std::string>{"of its command"});
    linked.trace(1, "of its command"); // the confirmation was lost
    linked.hear();
    CHECK(linked.traces.size() == 1);
    CHECK(linked.oversteps.empty());
    CHECK(linked.kept() == 2);

    for (int unasked = 0; unasked < 20; ++unasked)
        linked.trace(1, "unasked " + std::to_string(unasked));
    linked.trace(0, "of another node's rank");
    linked.hear();
    CHECK(linked.traces.size() == 1);
    REQUIRE(linked.oversteps.size() == 1);
    CHECK(linked.oversteps[0] ==
          "node 1 (hostB) sends a trace of rank 1 that nobody has asked for; such traces are left out");
    CHECK(linked.kept() == 2 + 20 + 1); // it would wait for that at its end

    linked.ask();
    for (const int rank : {1, 2})
        for (int trace = 0; trace < 3; ++trace)
            linked.trace(rank, std::to_string(rank) + ", " + std::to_string(trace));
    linked.hear();
    CHECK(linked.traces == std::vector<std::string>{"of its command", "1, 0", "2, 0", "2, 1"}); // rank 2 had sent none
    linked.go(0);                                                                               // repeated after a cut
    linked.trace(1, "unasked");
    linked.hear();
    CHECK(linked.traces.size() == 4);
}

TEST_CASE("of a rank's traces the newest waits for the disk, and all that wait have a bounded size") {
    WaitingTraces waiting(100);
    const auto put = [&](int rank, const std::string &text) { return waiting.put({rank, text, {}, true}); };
    CHECK(put(1, std::string(60, 'a')) == WaitingTraces::Put::First);
    CHECK(put(1, std::string(70, 'b')) == WaitingTraces::Put::Replaced);
    CHECK(put(2, std::string(40, 'c')) == WaitingTraces::Put::Full);
    CHECK(waiting.take(1).text == std::string(70, 'b'));
    CHECK(put(2, std::string(40, 'c')) == WaitingTraces::Put::First);
    CHECK(put(1, std::string(60, 'd')) == WaitingTraces::Put::First);
}

TEST_CASE("a node joins once a connection, and asks all ranks ten times at once, then once a second") {
    LinkedNode linked;
    NodeMessage join;
    join.what = NodeMessage::What::Join;
    join.processes = 2;
    NodeMessage request;
    request.steps = 5;
    const auto ask = [&](int times) {
        for (int again = 0; again < times; ++again) {
            request.what = again % 2 == 0 ? NodeMessage::What::Trace : NodeMessage::What::Stacks;
            linked.say(request);
        }
        linked.hear();
    };
    for (int again = 0; again < 5; ++again)
        linked.say(join);
    ask(20);
    CHECK(linked.joins == 1);
    CHECK(linked.links == std::vector<std::string>{"up"});
    CHECK(linked.controls == 10);
    REQUIRE(linked.oversteps.size() == 1);
    CHECK(linked.oversteps[0] ==
          "node 1 (hostB) asks for traces or stacks more than once a second; it is answered once a second");
    linked.clock.ns += 1'000'000'000;
    ask(5);
    CHECK(linked.controls == 11);
    CHECK(linked.oversteps.size() == 1);
}

TEST_CASE("a ping is answered once, whatever its further answers say of the clock") {
    LinkedNode linked;
    NodeMessage pong;
    pong.what = NodeMessage::What::Pong;
    pong.wallUs = linked.clock.wallUs();
    for (int number = 1; number <= 5; ++number) {
        pong.number = number;
        linked.say(pong);
    }
    linked.hear();
    const std::vector<std::string> reported{"up", "up"}; // the second with the clock's offset
    CHECK(linked.links == reported);
    for (int again = 0; again < 40; ++again) {
        *pong.wallUs += 1'000'000;
        linked.say(pong);
    }
    linked.hear();
    CHECK(linked.links == reported);
}

TEST_CASE("a link whose other side does not read is lost once 8 MiB wait for it") {
    LinkedNode linked;
    NodeMessage abort;
    abort.what = NodeMessage::What::Abort;
    abort.reason = std::string(60'000, 'x');
    for (int again = 0; again < 1000; ++again)
        linked.node().send(abort);
    CHECK(linked.node().connected()); // not in the midst of a send
    linked.hear();
    CHECK(linked.node().isLost());
    CHECK(linked.links == std::vector<std::string>{"up", "lost"});
}
