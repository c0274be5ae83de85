// SPDX-License-Identifier: MIT
// The numbers that epochs and steps have in the run, of processes that count them anew when they are started again.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "ipc/sound_values.h"
#include "trainer/agent/log/epoch_numbers.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace {

using Numbers = std::pair<int, std::int64_t>; // epoch, step

constexpr int stepsAnEpoch = 8;

/// Ranks of an unchanged script.
struct Script {
    EpochNumbers numbers;

    Frame inRun(int rank, FrameBody body) {
        Frame frame;
        frame.rank = rank;
        frame.body = std::move(body);
        const EpochNumbers::Made before = numbers.before(rank, frame);
        return countedOn(std::move(frame), before);
    }
    void begins(int rank, int worldSize, bool countsAnew = true) {
        StateFrame init;
        init.worldSize = worldSize;
        init.countsAnew = countsAnew;
        (void)inRun(rank, init);
    }
    /// Two ranks that have made an epoch.
    void beginsWithTwo() {
        for (const int rank : {0, 1}) {
            begins(rank, 2);
            (void)completes(rank, 1);
        }
    }
    void isDone(int rank) {
        StateFrame done;
        done.state = RunState::Done;
        (void)inRun(rank, done);
    }
    /// Its steps in the epoch, as its process counts; gives the number of the epoch and of its first step in the run.
    Numbers trains(int rank, int epoch, int steps) {
        StepsFrame window;
        window.epoch = epoch;
        window.firstStep = std::int64_t(epoch - 1) * stepsAnEpoch;
        window.lastStep = window.firstStep + steps - 1;
        window.count = steps;
        const auto ofRun = std::get<StepsFrame>(inRun(rank, window).body);
        CHECK(ofRun.lastStep - ofRun.firstStep == steps - 1);
        return {ofRun.epoch, ofRun.firstStep};
    }
    /// The same for a whole epoch.
    Numbers completes(int rank, int epoch) {
        const Numbers first = trains(rank, epoch, stepsAnEpoch);
        EpochFrame done;
        done.epoch = epoch;
        CHECK(std::get<EpochFrame>(inRun(rank, done).body).epoch == first.first);
        return first;
    }
};

} // namespace

TEST_CASE("ranks that were started again are counted on after the last epoch that all of them had completed") {
    for (const bool byAgent : {true, false}) {
        CAPTURE(byAgent);
        Script script;
        for (const int rank : {0, 1}) {
            script.begins(rank, 2);
            CHECK(script.completes(rank, 1) == Numbers(1, 0));
            CHECK(script.completes(rank, 2) == Numbers(2, 8));
        }
        CHECK(script.completes(0, 3) == Numbers(3, 16)); // the other one has not
        CHECK(script.trains(1, 3, 5) == Numbers(3, 16));
        if (byAgent)
            script.numbers.startOver(std::nullopt);
        for (const int rank : {1, 0}) {
            if (!byAgent)
                CHECK(script.numbers.startOver(rank) == (rank == 1)); // told once
            script.begins(rank, 2);
            CHECK(script.completes(rank, 1) == Numbers(3, 16));
            CHECK(script.completes(rank, 2) == Numbers(4, 24));
        }
        script.numbers.startOver(std::nullopt);
        script.numbers.startOver(std::nullopt); // no rank had come so far as to report
        script.begins(0, 2);
        CHECK(script.completes(0, 1) == Numbers(5, 32));
    }
}

TEST_CASE("a process of the start before keeps its numbers until another one takes its place") {
    Script script;
    script.beginsWithTwo();
    CHECK(script.numbers.startOver(0));
    script.begins(0, 2);
    CHECK(script.trains(0, 1, 3) == Numbers(2, 8));
    CHECK(script.trains(1, 2, 3) == Numbers(2, 8)); // a frame that comes late
    CHECK_FALSE(script.numbers.startOver(1));
    script.begins(1, 2);
    CHECK(script.trains(1, 1, 3) == Numbers(2, 8));
}

TEST_CASE("fewer ranks and more ranks are counted on like as many, whichever comes first") {
    for (const int worldSize : {1, 3}) {
        CAPTURE(worldSize);
        Script script;
        script.beginsWithTwo();
        for (int rank = worldSize - 1; rank >= 0; --rank) {
            if (rank < 2)
                (void)script.numbers.startOver(rank);
            script.begins(rank, worldSize);
            CHECK(script.completes(rank, 1) == Numbers(2, 8));
        }
    }
}

TEST_CASE("ranks of a size that comes back are counted on after those between, and each restart is told once") {
    Script script;
    script.beginsWithTwo();
    CHECK(script.numbers.startOver(0));
    script.begins(0, 1);
    CHECK(script.completes(0, 1) == Numbers(2, 8));
    for (const int rank : {1, 0}) {
        CHECK(script.numbers.startOver(rank) == (rank == 0)); // the first shows it by its first frame alone
        script.begins(rank, 2);
        CHECK(script.completes(rank, 1) == Numbers(3, 16));
    }
}

TEST_CASE("the ranks of a node are counted on after what those of all nodes had made") {
    Script script;
    script.begins(0, 2);
    (void)script.completes(0, 1);
    (void)script.completes(0, 2);
    CHECK(script.numbers.made().epochs == 2);
    script.numbers.startOver(EpochNumbers::Made{1, stepsAnEpoch});
    script.begins(0, 2);
    CHECK(script.completes(0, 1) == Numbers(2, 8));
}

TEST_CASE("what is said to have been made on all nodes is taken only as far as a run can have made it") {
    using Limits = std::numeric_limits<std::int64_t>;
    Script script;
    script.begins(0, 1);
    (void)script.completes(0, 1);
    script.numbers.startOver(EpochNumbers::Made{-5, Limits::min()});
    CHECK(script.numbers.made().epochs == 0);
    CHECK(script.numbers.made().steps == 0);
    script.begins(0, 1);
    CHECK(script.completes(0, 1) == Numbers(1, 0));
    script.numbers.startOver(EpochNumbers::Made{std::numeric_limits<int>::max(), Limits::max()});
    CHECK(script.numbers.made().epochs == highestEpoch);
    CHECK(script.numbers.made().steps == mostCounted);
}

TEST_CASE("a training that begins when all ranks were done is another one, and is not counted on") {
    Script script;
    script.begins(0, 1);
    (void)script.completes(0, 1);
    script.isDone(0);
    CHECK_FALSE(script.numbers.startOver(0));
    script.begins(0, 1);
    CHECK(script.completes(0, 1) == Numbers(1, 0));
}

TEST_CASE("a rank that gives the numbers of its epochs itself keeps them, and its restart is noticed") {
    Script script;
    script.begins(0, 1, false);
    (void)script.completes(0, 1);
    CHECK(script.numbers.startOver(0));
    script.begins(0, 1, false);
    CHECK(script.completes(0, 2) == Numbers(2, 8));
}

TEST_CASE("all numbers of a frame are raised, and none beyond what a frame may have") {
    const EpochNumbers::Made before{3, 24};
    Frame frame;
    StateFrame training;
    training.state = RunState::Training;
    training.epoch = 1;
    frame.body = training;
    CHECK(std::get<StateFrame>(countedOn(frame, before).body).epoch == 4);
    frame.body = EvalFrame{2, 0.5, {}, 10, {}, {}};
    CHECK(std::get<EvalFrame>(countedOn(frame, before).body).epoch == 5);
    frame.body = AlertFrame{"warning", "kind", "text", 5};
    CHECK(std::get<AlertFrame>(countedOn(frame, before).body).step == 29);
    RankPosition at;
    at.step = 5;
    frame.body = HeartbeatFrame{at};
    CHECK(std::get<HeartbeatFrame>(countedOn(frame, before).body).at->step == 29);
    StepsFrame last;
    last.epoch = highestEpoch;
    last.firstStep = last.lastStep = mostCounted;
    frame.body = last;
    const auto bounded = std::get<StepsFrame>(countedOn(frame, before).body);
    CHECK(bounded.epoch == highestEpoch);
    CHECK(bounded.lastStep == mostCounted);
}
