// SPDX-License-Identifier: MIT
// bf16 and channels-last against fp32 from equal seeds, in seconds; over whole trainings: tests/bench/accuracy.py.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/trainer/trainer_process.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

struct TrainedOnce {
    std::vector<double> losses; ///< a step
    Summary summary;
};

TrainedOnce trainOnce(const std::vector<std::string> &options) {
    const TempFolder folder;
    auto all = options;
    all.insert(all.end(), {"--train-samples=6400", "--epochs=2", "--lr=0.02", "--frames=" + (folder / "f"),
                           "--summary=" + (folder / "s")});
    const Ended ended = Process(trainerBinary(), withSmallRun(all), {{"LOCKSTEP_STEP_WINDOW_MS", "0"}}).wait();
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    TrainedOnce trained;
    for (const auto &window : bodiesOf<StepsFrame>(readFrames(folder / "f"), 0))
        trained.losses.push_back(window.loss->last);
    trained.summary = readSummary(folder / "s");
    REQUIRE(trained.losses.size() == 200);
    return trained;
}

/// The largest relative difference of the first steps' losses: later ones drift apart however small the first difference was.
double atFirst(const TrainedOnce &trained, const TrainedOnce &plain, std::size_t steps = 50) {
    double most = 0;
    for (std::size_t i = 0; i < steps; ++i)
        most = std::max(most, std::abs(trained.losses[i] - plain.losses[i]) / plain.losses[i]);
    return most;
}

} // namespace

TEST_SUITE("precision") {
    TEST_CASE("bf16 and channels-last start as fp32 does and end where it ends") {
        const TrainedOnce plain = trainOnce({});
        struct Way {
            const char *option;
            double first; ///< what rounding may do to a loss
        };
        for (const Way &way : {Way{"--precision=bf16", 0.15}, Way{"--channels-last", 1e-3}}) {
            const TrainedOnce other = trainOnce({way.option});
            const double first = atFirst(other, plain);
            const double loss = *other.summary.epochs.back().loss - *plain.summary.epochs.back().loss;
            const double points = 100 * (*other.summary.testAccuracy - *plain.summary.testAccuracy);
            MESSAGE(std::string(way.option) << ": first losses " << first << ", last epoch's loss " << loss
                                            << ", accuracy " << points << " points");
            CHECK(first < way.first);
            CHECK(first > 0); // it was computed otherwise indeed
            CHECK(std::abs(loss) < 0.03);
            CHECK(std::abs(points) < 2.5);
        }
    }

    TEST_CASE("channels last reaches the convolutions of DP's replicas, too") {
        for (const std::string replicas : {"each-step", "persistent"}) {
            CAPTURE(replicas);
            const std::vector<std::string> dp{"--method=dp", "--devices=0,1", "--dp-replicas=" + replicas};
            auto last = dp;
            last.emplace_back("--channels-last");
            const double first = atFirst(trainOnce(last), trainOnce(dp), 20);
            MESSAGE("DP, " << replicas << ": first losses " << first);
            CHECK(first < 1e-3);
            CHECK(first > 0); // it was computed otherwise indeed
        }
    }
}
