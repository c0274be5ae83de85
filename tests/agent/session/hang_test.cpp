// SPDX-License-Identifier: MIT
// Ranks that wait in a collective for others that do not come: who is named, and when nobody is.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>

#include "tests/agent/agent_process.h"
#include "tests/agent/nodes_run.h"
#include "trainer/agent/session/hang_watch.h"

using namespace lockstep;
using namespace lockstep::agent;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t second = 1'000'000'000;

std::vector<AlertFrame> alertsIn(const RunFolder &folder, const std::string &kind) {
    auto alerts = bodiesOf<AlertFrame>(framesOf(folder));
    std::erase_if(alerts, [&](const AlertFrame &alert) { return alert.kind != kind; });
    return alerts;
}

std::string hangIn(const RunFolder &folder) {
    REQUIRE(eventually([&] { return !alertsIn(folder, "hang").empty(); }));
    return alertsIn(folder, "hang").front().message;
}

bool holds(const std::string &text, const std::string &words) {
    return text.find(words) != std::string::npos;
}

/// A watch with a clock of its own.
struct Watched {
    explicit Watched(double afterS = 0, HangWatch::Ranks ranks = HangWatch::Ranks::Scripts)
        : watch(std::chrono::duration<double>(afterS), ranks) {}

    void hear(int rank, FrameBody body) {
        Frame frame;
        frame.rank = rank;
        frame.monoNs = now;
        frame.body = std::move(body);
        watch.take(rank, frame, now);
    }
    void state(int rank, RunState state) {
        StateFrame body;
        body.state = state;
        hear(rank, body);
    }
    void steps(int rank, std::int64_t first, std::int64_t count) {
        StepsFrame body;
        body.firstStep = first;
        body.lastStep = first + count - 1;
        body.count = count;
        hear(rank, body);
    }
    void waits(int rank, std::int64_t collective, double forS, std::int64_t step = 40) {
        hear(rank, HeartbeatFrame{RankPosition{step, "exposed", forS, collective, collective - 1, forS}});
    }
    void isIn(int rank, std::int64_t collectives, const std::string &phase, double forS, std::int64_t step = 40) {
        hear(rank, HeartbeatFrame{RankPosition{step, phase, forS, collectives, collectives, {}}});
    }
    /// Each rank has made steps of a second, long ago.
    void knowsSteps() {
        for (int rank = 0; rank < rankCount; ++rank)
            state(rank, RunState::Training);
        for (int step = 0; step < 2; ++step, now += second)
            for (int rank = 0; rank < rankCount; ++rank)
                steps(rank, step, 1);
        now += 1000 * second;
    }
    std::string check() {
        const auto alert = watch.check(now, rankCount, [this](int) { return process; });
        return alert ? alert->kind + ": " + alert->message : "";
    }

    HangWatch watch;
    std::int64_t now = 1000 * second;
    std::string process;
    int rankCount = 2;
};

} // namespace

TEST_CASE("what a rank that was started again has reported counts, though another one's new process comes after it") {
    Watched run(5);
    run.knowsSteps();
    run.watch.startOver(); // rank 1's new process was the first
    run.state(1, RunState::Training);
    run.watch.startOver(0);
    run.state(0, RunState::Training);
    run.isIn(1, 6, "load", 12);
    run.waits(0, 7, 12);
    CHECK(holds(run.check(), "hang: rank 0 has waited for 12 s in collective 7"));
}

TEST_CASE("the rank that has not come is named with its phase, once, and it is said when the ranks go on") {
    Watched run;
    run.rankCount = 3;
    for (const int rank : {0, 1, 2})
        run.state(rank, RunState::Training);
    run.knowsSteps();
    run.waits(0, 812, 9.5);
    run.waits(2, 812, 8);
    run.isIn(1, 811, "load", 31);
    CHECK(run.check().empty()); // less than 10 s
    run.now += second;
    CHECK(run.check() ==
          "hang: ranks 0 and 2 have waited for 11 s in collective 812 (step 40, phase exposed); rank 1 has not "
          "come: it is in step 40, phase load, for 32 s");
    CHECK(run.check().empty());
    for (const int rank : {0, 1, 2})
        run.steps(rank, 41, 1);
    CHECK(run.check() == "hang_over: the ranks go on: collective 812 has ended on all of them");
    CHECK(run.check().empty());
}

TEST_CASE("a rank of which nothing is heard is named, whatever it was doing, with what is odd about its process") {
    for (const RunState state : {RunState::Training, RunState::Evaluating, RunState::Checkpointing}) {
        Watched run(8);
        run.process = "its process is stopped";
        run.state(0, RunState::Training);
        run.steps(1, 0, 40);
        run.state(1, state);
        run.now += 12 * second;
        run.waits(0, 41, 11);
        CHECK(run.check() ==
              "hang: rank 0 has waited for 11 s in collective 41 (step 40, phase exposed); rank 1 has not come: "
              "nothing was heard of it for 12 s, last in step 39; its process is stopped");
    }
}

TEST_CASE("a rank that says it waits, and has entered no collective, waits in none") {
    for (const auto ended : {std::optional<std::int64_t>(), std::optional<std::int64_t>(7)}) {
        Watched run;
        run.state(0, RunState::Training);
        run.hear(0, HeartbeatFrame{RankPosition{40, "exposed", 1000, ended, ended, 1000}});
        CHECK(run.check().empty());
    }
}

TEST_CASE("a rank that evaluates, writes a checkpoint or starts may take its time while it is heard") {
    for (const RunState state : {RunState::Init, RunState::Evaluating, RunState::Checkpointing}) {
        Watched run;
        run.knowsSteps();
        run.state(0, RunState::Training);
        run.state(1, state);
        run.now += 100 * second;
        run.waits(0, 41, 99);
        run.isIn(1, 40, "load", 99);
        CHECK(run.check().empty());
    }
}

TEST_CASE("without a limit of its own, five median steps are waited for, and 10 s where those are shorter") {
    Watched run;
    for (const int rank : {0, 1})
        run.state(rank, RunState::Training);
    for (int i = 0; i < 20; ++i) { // steps of 8 s
        for (const int rank : {0, 1})
            run.steps(rank, i, 1);
        run.now += 8 * second;
    }
    run.now += 31 * second;
    run.waits(0, 21, 39);
    run.isIn(1, 20, "backward", 39);
    CHECK(run.check().empty());
    run.now += 2 * second;
    CHECK(run.check().starts_with("hang: rank 0 has waited for 41 s"));
}

TEST_CASE("a first step takes its time: while no step is known, five minutes are waited for, unless a limit was set") {
    for (const double afterS : {0.0, 12.0}) {
        CAPTURE(afterS);
        Watched run(afterS);
        for (const int rank : {0, 1})
            run.state(rank, RunState::Training);
        run.waits(0, 1, 290, 0);
        run.isIn(1, 0, "forward", 299, 0);
        CHECK(run.check().empty() == (afterS == 0));
        run.waits(0, 1, 300, 0);
        run.isIn(1, 0, "forward", 309, 0);
        CHECK(run.check().empty() == (afterS != 0)); // it was said before
    }
}

TEST_CASE(
    "a rank in a script's own work, such as a validation or a checkpoint, has five minutes, unless a limit was set") {
    for (const double afterS : {0.0, 12.0}) {
        CAPTURE(afterS);
        Watched run(afterS);
        run.knowsSteps();
        run.waits(0, 41, 299);
        run.isIn(1, 40, "", 299);
        CHECK(run.check().empty() == (afterS == 0));
        if (afterS > 0)
            continue;
        run.now += 2 * second;
        CHECK(run.check() ==
              "hang: rank 0 has waited for 301 s in collective 41 (step 40, phase exposed); rank 1 has not "
              "come: it is in step 40, for 301 s");
    }
}

TEST_CASE("a rank that still goes from phase to phase, as one that validates does, is not waited for in vain") {
    Watched run;
    run.knowsSteps();
    run.waits(0, 41, 4000);
    run.isIn(1, 40, "load", 0.1);
    CHECK(run.check().empty());
    run.steps(1, 41, 1); // a frame of any kind
    CHECK(run.check().empty());
    run.now += 11 * second;
    run.waits(0, 41, 4011);
    run.isIn(1, 40, "load", 11);
    CHECK(run.check().starts_with("hang: rank 0 has waited for 4011 s"));
}

TEST_CASE(
    "ranks that are all in their backward may compute, and are given five minutes; those that don't come are not") {
    const auto backward = [](Watched &run, int rank, double forS) {
        run.hear(rank, HeartbeatFrame{RankPosition{40, "backward", forS, 41, 40, forS}});
    };
    Watched run, other;
    for (Watched *each : {&run, &other}) {
        each->knowsSteps();
        backward(*each, 0, 60);
        backward(*each, 1, 60);
        CHECK(each->check().empty());
    }
    run.isIn(1, 40, "load", 60);
    CHECK(run.check() == "hang: rank 0 has waited for 60 s in collective 41 (step 40, phase backward); rank 1 has not "
                         "come: it is in step 40, phase load, for 60 s");
    backward(other, 0, 301);
    backward(other, 1, 301);
    CHECK(holds(other.check(), "all ranks are in it: the network or the backend does not go on"));
}

TEST_CASE(
    "lockstep-trainer's ranks enter each collective by themselves: backward and a lack of phases gain them no time") {
    Watched inBackward(0, HangWatch::Ranks::Trainer), inNoPhase(0, HangWatch::Ranks::Trainer);
    inBackward.knowsSteps();
    for (const int rank : {0, 1})
        inBackward.hear(rank, HeartbeatFrame{RankPosition{40, "backward", 11, 41, 40, 11}});
    CHECK(holds(inBackward.check(), "all ranks are in it: the network or the backend does not go on"));
    inNoPhase.knowsSteps();
    inNoPhase.waits(0, 41, 11);
    inNoPhase.isIn(1, 40, "", 11);
    CHECK(inNoPhase.check().starts_with("hang: rank 0 has waited for 11 s"));
}

TEST_CASE("a rank that ends steps at its own pace is no hang, however long others wait, and one that stays in one is") {
    Watched run;
    for (const int rank : {0, 1})
        run.state(rank, RunState::Training);
    std::int64_t fast = 0;
    for (int slow = 0; slow < 5; ++slow) { // steps of 20 s beside steps of 1 s
        for (int s = 0; s < 20; ++s, run.now += second)
            run.steps(0, fast++, 1);
        run.steps(1, slow, 1);
    }
    for (int slow = 5; slow < 8; ++slow) { // the other one has ended its epoch
        run.now += 19 * second;
        run.waits(0, fast + 1, 20.0 * (slow - 5) + 19);
        run.isIn(1, slow, "backward", 19, slow);
        CHECK(run.check().empty());
        run.now += second;
        run.steps(1, slow, 1);
    }
    run.now += 99 * second;
    run.waits(0, fast + 1, 159);
    run.isIn(1, 8, "backward", 99, 8);
    CHECK(run.check().empty()); // less than five steps of its own
    run.now += 2 * second;
    CHECK(run.check() == "hang: rank 0 has waited for 161 s in collective 101 (step 40, phase exposed); rank 1 has not "
                         "come: it is in step 8, phase backward, for 101 s");
}

TEST_CASE("a rank that ended steps a moment ago and is heard no more is named") {
    Watched run;
    for (const int rank : {0, 1})
        run.state(rank, RunState::Training);
    for (int step = 0; step < 5; ++step, run.now += 20 * second)
        run.steps(1, step, 1);
    run.waits(0, 9, 101);
    CHECK(holds(run.check(), "rank 1 has not come: nothing was heard of it for 20 s, last in step 4"));
}

TEST_CASE("when all ranks wait in the same collective, the network or the backend is named") {
    Watched run(2);
    for (const int rank : {0, 1}) {
        run.state(rank, RunState::Training);
        run.waits(rank, 7, 3);
    }
    CHECK(holds(run.check(), "ranks 0 and 1 have waited for 3 s in collective 7"));
    Watched other(2);
    for (const int rank : {0, 1}) {
        other.state(rank, RunState::Training);
        other.waits(rank, 7, 3);
    }
    CHECK(holds(other.check(), "all ranks are in it: the network or the backend does not go on"));
}

TEST_CASE("of a rank that never reported a frame, nothing is claimed") {
    Watched run(2);
    run.state(0, RunState::Training);
    run.waits(0, 7, 3);
    const std::string message = run.check();
    CHECK_MESSAGE(holds(message, "nothing is known of 1 rank, which reported no frame"), message);
    CHECK_FALSE(holds(message, "all ranks are in it"));
}

TEST_CASE("a hang of real processes is an alert that names the rank that stays in its load") {
    const TestHome home;
    const ServedRun run =
        serve(2, {{"FAKE_RANK", "epochs=1;steps=30"}, {"FAKE_RANK_0", "wait_at=5"}, {"FAKE_RANK_1", "load_at=5"}}, 1);
    const std::string message = hangIn(run.folder);
    CHECK_MESSAGE(holds(message, "rank 0 has waited for "), message);
    CHECK_MESSAGE(
        holds(message,
              " in collective 6 (step 5, phase exposed); rank 1 has not come: it is in step 5, phase load, for "),
        message);
    CHECK(alertsIn(run.folder, "hang").front().step == 5);
}

TEST_CASE("a rank that is stopped from outside is named as stopped") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=1;steps=4000;step_ms=10"}, {"FAKE_RANK_0", "wait_at=30"}}, 1);
    const auto pids = rankPids(run.folder, 2);
    REQUIRE(::kill(pids.at(1), SIGSTOP) == 0);
    const std::string message = hangIn(run.folder);
    CHECK_MESSAGE(holds(message, "rank 1 has not come: "), message);
    CHECK_MESSAGE(holds(message, "its process is stopped (by SIGSTOP or a debugger)"), message);
    ::kill(pids.at(1), SIGCONT);
}

TEST_CASE("a run whose ranks go on raises no such alert") {
    const TestHome home;
    const ServedRun run = serve(2, {{"FAKE_RANK", "epochs=2;steps=60;step_ms=20"}}, 1);
    CHECK((resultOf(run.folder).state == RunState::Done));
    CHECK(alertsIn(run.folder, "hang").empty());
}

TEST_CASE("agent 0 names a rank of another node, a script's too") {
    for (const char *spelling : {"", ";like_python"}) {
        CAPTURE(spelling);
        const TestHome home;
        NodesRun::Options options;
        options.devices = {1, 1};
        options.environment = {{"FAKE_RANK", std::string("epochs=1;steps=30") + spelling},
                               {"FAKE_RANK_0", "wait_at=5"},
                               {"FAKE_RANK_1", "load_at=5"}};
        options.hangAfterS = 1;
        NodesRun run(home, options);
        run.startAll();
        const std::string message = hangIn(run.folder(0));
        CHECK_MESSAGE(holds(message, "rank 1 has not come: it is in step 5, phase load, for "), message);
        CHECK(alertsIn(run.folder(1), "hang").empty());
    }
}
