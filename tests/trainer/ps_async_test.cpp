// SPDX-License-Identifier: MIT
// The asynchronous parameter server with real ranks.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <numeric>
#include <thread>

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ATen/Functions.h>

#include "tests/trainer/trainer_process.h"
#include "trainer/data/safetensors.h"
#include "trainer/report/phase_clock.h"
#include "trainer/strategies/giving_way.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

/// Two ranks, of which the second's backward (or `slow`'s) takes so many times as long; what they reported.
std::vector<Frame> unlikeRanks(std::vector<std::string> options, int ranks = 2, int slower = 8, int slow = 1) {
    const TempFolder folder;
    options.insert(options.end(),
                   {"--method=ps-async", "--train-samples=1920", "--batch-size=48", "--frames=" + (folder / "f")});
    DdpRun run(ranks, options,
               {{"LOCKSTEP_TEST_DELAY", std::to_string(slow) + ":backward:" + std::to_string(slower)},
                {"LOCKSTEP_STEP_WINDOW_MS", "0"}});
    const auto all = run.wait();
    std::string said; // by all of them: the first that fails may have lost another one only
    for (const Ended &ended : all)
        said += ended.err + "\n";
    CAPTURE(said);
    for (const Ended &ended : all)
        REQUIRE(ended.code == 0);
    return readFrames(folder / "f");
}

ScalarWindow stalenessOf(const std::vector<Frame> &frames, int rank) {
    return bodiesOf<EpochFrame>(frames, rank).at(0).scalars.at("staleness");
}

/// Steps that rank 1 had reported when rank 0 reported its last one.
std::int64_t stepsOfTheSlowOneMeanwhile(const std::vector<Frame> &frames) {
    std::int64_t slow = 0, meanwhile = 0;
    for (const Frame &frame : frames)
        if (const auto *steps = std::get_if<StepsFrame>(&frame.body)) {
            if (frame.rank == 1)
                slow += steps->count;
            else if (frame.rank == 0)
                meanwhile = slow;
        }
    return meanwhile;
}

/// Seconds of this process and of another one that wants the same core all the time, while this one gives way every 0.1 ms.
std::pair<double, double> givingWayBesideABusyProcess() {
    const int core = sched_getcpu();
    cpu_set_t before, one;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    const pid_t other = fork();
    if (other == 0)
        for (volatile bool busy = true; busy;) {
        }
    REQUIRE(other > 0);
    const auto threadNs = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
    };
    GivingWay way(std::make_shared<std::atomic<std::int64_t>>(0)); // nothing to do for the server
    const double startNs = threadNs();
    for (const std::int64_t endNs = monotonicNs() + 1'500'000'000; monotonicNs() < endNs; way.now())
        for (const double until = threadNs() + 100'000; threadNs() < until;) {
        }
    const double own = (threadNs() - startNs) / 1e9;
    kill(other, SIGKILL);
    rusage used{};
    wait4(other, nullptr, 0, &used);
    sched_setaffinity(0, sizeof before, &before);
    return {own, static_cast<double>(used.ru_utime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec) / 1e6};
}

/// Whether the rank's heartbeats come to say that it waits in a collective, in a step.
bool comesToWait(const std::string &file, int rank) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
        for (const auto &beat : bodiesOf<HeartbeatFrame>(readFrames(file), rank))
            if (beat.at && beat.at->step && beat.at->waitS)
                return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

} // namespace

TEST_SUITE("ps_async") {
    TEST_CASE("ranks that wait for one that has stopped say so in their heartbeats, those that only serve too") {
        for (const int servers : {0, 1}) {
            CAPTURE(servers);
            const TempFolder folder;
            const std::string file = folder / "f";
            // Rank 1 is nearly always in its backward, so that it is stopped there.
            DdpRun run(2 + servers,
                       {"--method=ps-async", "--max-staleness=0", "--train-samples=19200", "--batch-size=48",
                        "--server-devices=" + std::to_string(servers), "--frames=" + file},
                       {{"LOCKSTEP_TEST_DELAY", "1:backward:100"}, {"LOCKSTEP_STEP_WINDOW_MS", "0"}});
            REQUIRE(appears(file, R"("type":"steps")"));
            run.rank(1).signal(SIGSTOP);
            CHECK(comesToWait(file, 0));
            if (servers > 0)
                CHECK(comesToWait(file, 2));
        }
    }

    TEST_CASE("a thread that gives way to its server keeps its part of a core that another process wants too") {
        const auto [own, other] = givingWayBesideABusyProcess();
        CAPTURE(own);
        CAPTURE(other);
        CHECK(own > 0.6 * other); // 0.03 if it gave way each time
    }

    TEST_CASE("without a limit a fast rank is not held up by a slow one, whose updates are stale") {
        const auto frames = unlikeRanks({}, 2, 32);     // so slow that it stays behind if the other one starts late
        CHECK(stepsOfTheSlowOneMeanwhile(frames) < 30); // of 40
        CHECK(stalenessOf(frames, 1).mean() > 1.5 * stalenessOf(frames, 0).mean());
        CHECK(stalenessOf(frames, 1).max > 1);
    }

    TEST_CASE("with a limit no update is staler, and at 0 all ranks go in step") {
        for (const int limit : {0, 2}) {
            CAPTURE(limit);
            const auto frames = unlikeRanks({"--max-staleness=" + std::to_string(limit)});
            for (const int rank : {0, 1})
                CHECK(stalenessOf(frames, rank).max <= limit);
            if (limit == 0)
                CHECK(stepsOfTheSlowOneMeanwhile(frames) >= 35);
            const auto epoch = bodiesOf<EpochFrame>(frames, 0).at(0);
            CHECK(epoch.phases.at("wait").sumS > 0.3 * epoch.phases.at("exposed").sumS); // for the slow rank
        }
    }

    TEST_CASE("with several servers and a limit every epoch ends, whichever rank is the slow one") {
        for (const auto &[ranks, limit] : {std::pair{2, 1}, std::pair{3, 2}})
            for (int slow = 0; slow < ranks; ++slow) {
                CAPTURE(ranks);
                CAPTURE(slow);
                const auto frames = unlikeRanks(
                    {"--servers=" + std::to_string(ranks), "--epochs=2", "--max-staleness=" + std::to_string(limit)},
                    ranks, 8, slow);
                for (int rank = 0; rank < ranks; ++rank) {
                    CHECK(bodiesOf<EpochFrame>(frames, rank).size() == 2);
                    CHECK(stalenessOf(frames, rank).max <= limit);
                }
            }
    }

    TEST_CASE(
        "with several servers and a limit a wish to stop, be it of the slow rank, stops all after the same step") {
        for (const std::size_t asked : {0u, 1u}) {
            CAPTURE(asked);
            const TempFolder folder;
            DdpRun run(2,
                       {"--method=ps-async", "--servers=2", "--max-staleness=1", "--epochs=1000",
                        "--frames=" + (folder / "f")},
                       {{"LOCKSTEP_TEST_DELAY", "0:backward:8"}, {"LOCKSTEP_STEP_WINDOW_MS", "0"}});
            REQUIRE(appears(folder / "f", R"("type":"steps")"));
            run.rank(asked).signal(SIGTERM);
            for (const Ended &ended : run.wait()) {
                CAPTURE(ended.err);
                CHECK(ended.code == 130);
            }
            const auto frames = readFrames(folder / "f");
            CHECK(bodiesOf<StepsFrame>(frames, 0).back().lastStep == bodiesOf<StepsFrame>(frames, 1).back().lastStep);
        }
    }

    TEST_CASE("a device that only serves uses the rate of the step whose gradients come, and each step reports it") {
        const TempFolder folder;
        // Two steps: the first with a rate of 0, which it reports, and which leaves the parameters as they were.
        const auto run = [&](int ranks, std::vector<std::string> options, const std::string &name) {
            options.insert(options.end(),
                           {"--train-samples=128", "--batch-size=64", "--precision=fp64", "--lr=0.05", "--threads=1",
                            "--warmup-steps=1", "--method=ps-async", "--max-staleness=0",
                            "--summary=" + (folder / name), "--frames=" + (folder / (name + ".frames"))});
            for (const Ended &ended : DdpRun(ranks, options, {{"LOCKSTEP_STEP_WINDOW_MS", "0"}}).wait()) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
            }
            return readSummary(folder / name).parametersSha256;
        };
        const std::string without = run(2, {}, "without");
        REQUIRE(!without.empty());
        CHECK(run(3, {"--server-devices=1"}, "with") == without);
        const auto frames = readFrames(folder / "with.frames");
        for (const int rank : {0, 1}) {
            const auto lr = bodiesOf<EpochFrame>(frames, rank).at(0).scalars.at("lr");
            CHECK(lr.min == 0);
            CHECK(lr.last == doctest::Approx(0.05));
        }
        CHECK(!bodiesOf<EpochFrame>(frames, 2).at(0).scalars.contains("lr")); // its steps are no updates
    }

    TEST_CASE("a device that only serves sees no samples and leaves the batch to the others") {
        const auto frames = unlikeRanks({"--server-devices=1"}, 3);
        std::int64_t samples = 0;
        for (const int rank : {0, 1}) {
            const auto epoch = bodiesOf<EpochFrame>(frames, rank).at(0);
            CHECK(epoch.steps == 40);
            samples += epoch.samples;
        }
        CHECK(samples == 1920);
        CHECK(stepsOfTheSlowOneMeanwhile(frames) < 30); // nobody waits for another one
        const auto server = bodiesOf<EpochFrame>(frames, 2).at(0);
        CHECK(server.samples == 0);
        CHECK(server.steps == 40); // those of the slowest
        CHECK(server.phases.at("wait").sumS > 0.8 * server.durationS);
        CHECK(!server.scalars.contains("staleness"));
        CHECK(bodiesOf<CommFrame>(frames, 2).empty());
    }

    TEST_CASE("the linear rule multiplies the learning rate by the devices that train") {
        const TempFolder folder;
        DdpRun run(3, {"--method=ps-async", "--server-devices=1", "--lr-rule=linear", "--lr=0.01",
                       "--summary=" + (folder / "s")});
        for (const Ended &ended : run.wait()) {
            CAPTURE(ended.err);
            REQUIRE(ended.code == 0);
        }
        CHECK(readSummary(folder / "s").lr.value_or(0) == doctest::Approx(0.02));
    }

    TEST_CASE("a rank whose input is NaN is named, though the parameters are NaN at a lower step of a slower one") {
        DdpRun run(2, {"--method=ps-async", "--train-samples=1920", "--batch-size=48"},
                   {{"LOCKSTEP_TEST_DELAY", "1:backward:8"}, {"LOCKSTEP_TEST_NAN", "0:20"}});
        for (const Ended &ended : run.wait()) {
            CAPTURE(ended.err);
            CHECK(ended.code == 1);
            CHECK(ended.err.find("training stopped because the loss of rank 0 is NaN since step 20 (the first tensor "
                                 "that is not finite: the input)") != std::string::npos);
        }
    }

    TEST_CASE("where all ranks only see parameters that are NaN, it is said that the rank is unknown") {
        const TempFolder folder;
        const std::string file = folder / "parameters";
        REQUIRE(Process(trainerBinary(), withSmallRun({"--save-final=" + file})).wait().code == 0);
        auto parameters = *readTensors(file);
        auto &first = parameters.tensors.front().second;
        first = at::full_like(first, std::nan(""));
        REQUIRE(writeTensors(file, parameters));
        for (const Ended &ended : DdpRun(2, {"--method=ps-async", "--init=" + file}).wait()) {
            CAPTURE(ended.err);
            CHECK(ended.code == 1);
            CHECK(ended.err.find("of layer conv1), and which rank that came from is unknown") != std::string::npos);
        }
    }

    TEST_CASE("each rank counts its updates of every server by their staleness") {
        for (const int servers : {1, 2}) {
            CAPTURE(servers);
            const auto frames = unlikeRanks({"--servers=" + std::to_string(servers)}, 3);
            for (int rank = 0; rank < 3; ++rank) {
                std::int64_t updates = 0, steps = 0;
                double stale = 0;
                bool beyond = false;
                for (const auto &comm : bodiesOf<CommFrame>(frames, rank)) {
                    CHECK(comm.buckets.size() == static_cast<std::size_t>(servers));
                    beyond = beyond || std::ssize(comm.staleness) > mostStaleness;
                    updates += std::accumulate(comm.staleness.begin(), comm.staleness.end(), std::int64_t{0});
                    for (std::size_t i = 0; i < comm.staleness.size(); ++i)
                        stale += static_cast<double>(i) * static_cast<double>(comm.staleness[i]);
                }
                for (const auto &window : bodiesOf<StepsFrame>(frames, rank))
                    steps += window.count;
                CHECK(steps == 40);
                CHECK(updates == servers * steps);
                const double counted = stale / static_cast<double>(updates), mean = stalenessOf(frames, rank).mean();
                if (!beyond)
                    CHECK(counted == doctest::Approx(mean));
                else // on a busy machine: the last entry counts all from there on
                    CHECK(counted <= doctest::Approx(mean));
            }
        }
    }
}
