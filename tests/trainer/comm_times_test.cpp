// SPDX-License-Identifier: MIT
// What DDP's buckets say of communication, from stamps and from a run.
#include <doctest/doctest.h>

#include "tests/trainer/trainer_process.h"
#include "trainer/strategies/comm_statistics.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

TEST_SUITE("comm_times") {
    TEST_CASE("in a stream of its own a bucket starts when it is ready and the one before is through") {
        // Bytes, ready, (start), end.
        std::vector<BucketStamp> buckets{{8, 100, 0, 150}, {8, 120, 0, 210}, {8, 300, 0, 340}, {8, 310, 0, 350}};
        startInTurn(buckets);
        const std::int64_t starts[] = {100, 150, 300, 340};
        for (std::size_t i = 0; i < buckets.size(); ++i) {
            CHECK(buckets[i].startNs == starts[i]);
            CHECK(buckets[i].endNs >= buckets[i].startNs);
        }
        std::vector<BucketStamp> coarse{{8, 100, 0, 99}}; // a GPU's clock ticks in half microseconds
        startInTurn(coarse);
        CHECK(coarse[0].startNs == 100);
        CHECK(coarse[0].endNs == 100);
    }

    TEST_CASE("where two threads work buckets off, the third starts when the first of them is free, and none before it "
              "is posted") {
        std::vector<BucketStamp> buckets{
            {8, 100, 105, 400}, {8, 110, 112, 300}, {8, 120, 121, 320}, {8, 500, 503, 520}};
        startInTurn(buckets, 2);
        const std::int64_t starts[] = {105, 112, 300, 503};
        for (std::size_t i = 0; i < buckets.size(); ++i)
            CHECK(buckets[i].startNs == starts[i]);
    }

    TEST_CASE("time with a bucket under way is hidden up to the last gradient and exposed after it") {
        std::vector<BucketStamp> buckets{{80, 1'100, 0, 1'150}, {8, 1'200, 0, 1'290}};
        startInTurn(buckets);
        CommStatistics statistics;
        const auto step = statistics.add(buckets, 1'000);
        CHECK(step.commNs == 50 + 90);
        CHECK(step.hiddenNs == 50);
        statistics.addExposed(90, {});
        (void)statistics.add(buckets, 1'000);
        statistics.addExposed(90, {});
        const auto frame = statistics.take();
        REQUIRE(frame.has_value());
        CHECK(frame->firstStep == 0);
        CHECK(frame->lastStep == 1);
        CHECK(frame->hiddenS.value() == doctest::Approx(100e-9));
        CHECK(frame->exposedS.value() == doctest::Approx(180e-9));
        CHECK(!frame->waitS); // nobody measured it
        REQUIRE(frame->buckets.size() == 2);
        CHECK(frame->buckets[0].readyS == doctest::Approx(100e-9));
        CHECK(frame->buckets[1].startS == doctest::Approx(200e-9));
        CHECK(frame->buckets[1].endS == doctest::Approx(290e-9));
        CHECK(!statistics.take());
    }

    TEST_CASE("waiting for slower ranks is a part of exposed communication, and of communication, never more") {
        const CommStatistics::Step step{.commNs = 90, .hiddenNs = 0};
        CHECK(step.waitWithin(70, 0, 60) == 60);
        CHECK(step.waitWithin(70, 0, 80) == 70);
        CHECK(step.waitWithin(100, 0, 95) == 90);
        CHECK(step.waitWithin(100, 4, 95) == 94);

        const TempFolder folder;
        DdpRun run(2, {"--all-reduce=ring", "--train-samples=65", "--epochs=4", "--frames=" + (folder / "f")},
                   {{"LOCKSTEP_STEP_WINDOW_MS", "0"}});
        for (const Ended &ended : run.wait()) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
        const auto windows = bodiesOf<StepsFrame>(readFrames(folder / "f"));
        REQUIRE(!windows.empty());
        for (const StepsFrame &window : windows) {
            const auto secondsIn = [&](const char *phase) {
                const auto found = window.phases.find(phase);
                return found == window.phases.end() ? 0 : found->second.sumS;
            };
            constexpr double rounded = 1e-6; // seconds
            CHECK(secondsIn("wait") <= secondsIn("exposed") + rounded);
            CHECK(secondsIn("wait") <= secondsIn("comm") + rounded);
        }
    }

    TEST_CASE("no mean is taken over two cuts: the first step's one bucket is not the first of several") {
        CommStatistics statistics;
        (void)statistics.add({{88, 900'000, 900'000, 950'000}}, 0); // a first step, which loads kernels
        statistics.addExposed(0, {});
        for (int i = 0; i < 2; ++i) {
            (void)statistics.add({{80, 100, 100, 150}, {8, 200, 200, 290}}, 0);
            statistics.addExposed(0, {});
        }
        const auto frame = statistics.take();
        REQUIRE(frame.has_value());
        CHECK(frame->lastStep == 2); // its time counts
        REQUIRE(frame->buckets.size() == 2);
        CHECK(frame->buckets[0].count == 2);
        CHECK(frame->buckets[0].sizeBytes == 80);
        CHECK(frame->buckets[0].endS == doctest::Approx(150e-9));
    }
}
