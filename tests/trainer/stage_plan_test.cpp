// SPDX-License-Identifier: MIT
// How a pipeline shares out layers and work.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "ipc/methods.h"
#include "ipc/stage_plan.h"
#include "tests/trainer/trainer_process.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

using Seconds = std::vector<std::vector<double>>;

double slowestOf(const Seconds &seconds, const Seconds &messages, const std::vector<std::size_t> &begins) {
    double slowest = 0;
    for (std::size_t stage = 0; stage < seconds.size(); ++stage) {
        double own = std::accumulate(seconds[stage].begin() + std::ptrdiff_t(begins[stage]),
                                     seconds[stage].begin() + std::ptrdiff_t(begins[stage + 1]), 0.0);
        if (stage > 0)
            own += messages[stage - 1][begins[stage] - 1];
        if (stage + 1 < seconds.size())
            own += messages[stage][begins[stage + 1] - 1];
        slowest = std::max(slowest, own);
    }
    return slowest;
}

/// The least time of the slowest stage, by trying every way.
double leastSlowest(const Seconds &seconds, const Seconds &messages) {
    const std::size_t layers = seconds.front().size(), stages = seconds.size();
    double least = 1e9;
    std::vector<std::size_t> begins(stages + 1, 0);
    begins.back() = layers;
    const auto place = [&](auto &&self, std::size_t stage) -> void {
        if (stage == stages) {
            least = std::min(least, slowestOf(seconds, messages, begins));
            return;
        }
        for (begins[stage] = begins[stage - 1] + 1; begins[stage] + (stages - stage) <= layers; ++begins[stage])
            self(self, stage + 1);
    };
    place(place, 1);
    return least;
}

/// A step of GPipe, cut so.
double stepOf(const CutCosts &costs, const std::vector<std::size_t> &begins, std::size_t microBatches) {
    std::vector<StageTimes> times(costs.layers.size());
    for (std::size_t stage = 0; stage < times.size(); ++stage) {
        double workS = 0; // of its messages, in each direction
        for (const std::size_t border : {stage, stage + 1})
            if (border > 0 && border < times.size()) {
                const double wayS = costs.messageS[border - 1][begins[border] - 1];
                if (costs.messagesAreWork)
                    workS += wayS;
                else if (border > stage)
                    times[stage].messageS = wayS;
            }
        times[stage].forwardS = times[stage].backwardS = workS;
        for (std::size_t layer = begins[stage]; layer < begins[stage + 1]; ++layer) {
            times[stage].forwardS += costs.layers[stage][layer].forwardS;
            times[stage].backwardS += costs.layers[stage][layer].backwardS;
        }
    }
    return playSteps("gpipe", times, microBatches).stepS;
}

/// Steps in which a forward takes 1, a backward takes 2, and a message `wayS`. An order that deadlocks leaves work undone: CHECKed.
PlayedStep play(std::string_view schedule, std::size_t stages, std::size_t microBatches, double wayS = 0) {
    const PlayedStep played = playSteps(
        schedule, std::vector(stages, StageTimes{.forwardS = 1, .backwardS = 2, .messageS = wayS}), microBatches);
    for (const double busyS : played.busyS)
        CHECK(busyS == doctest::Approx(3 * double(microBatches)));
    return played;
}

} // namespace

TEST_SUITE("stage_plan") {
    TEST_CASE("layers are shared out so that the slowest stage is as fast as any other way would make it") {
        CHECK(splitLayers({{5, 1, 1, 1, 1, 1}, {5, 1, 1, 1, 1, 1}}) == std::vector<std::size_t>{0, 1, 6});
        CHECK(splitLayers({{1, 1, 1}}) == std::vector<std::size_t>{0, 3});
        CHECK(splitLayers({{1, 9}, {1, 9}}) == std::vector<std::size_t>{0, 1, 2});
        std::mt19937 random(7);
        std::uniform_real_distribution<double> time(0.1, 5);
        for (int trial = 0; trial < 200; ++trial) {
            const std::size_t stages = 1 + random() % 4, layers = stages + random() % 6;
            Seconds seconds(stages, std::vector<double>(layers)), messages = seconds;
            for (Seconds *all : {&seconds, &messages})
                for (auto &stage : *all)
                    for (double &layer : stage)
                        layer = time(random);
            messages.pop_back();
            const auto begins = splitLayers(seconds, messages);
            REQUIRE(begins.size() == stages + 1);
            CHECK(begins.front() == 0);
            CHECK(begins.back() == layers);
            for (std::size_t stage = 0; stage < stages; ++stage)
                CHECK(begins[stage] < begins[stage + 1]);
            CHECK(slowestOf(seconds, messages, begins) == doctest::Approx(leastSlowest(seconds, messages)));
        }
    }

    TEST_CASE("a device that is half as fast gets half the layers") {
        const std::vector<double> fast(6, 1), slow(6, 2);
        CHECK(splitLayers({fast, slow}) == std::vector<std::size_t>{0, 4, 6});
        CHECK(splitLayers({slow, fast}) == std::vector<std::size_t>{0, 2, 6});
    }

    TEST_CASE("a large message is not worth an even split") {
        const Seconds even(2, {1, 1, 1, 1});
        CHECK(splitLayers(even, {{3, 3, 0.5, 3}}) == std::vector<std::size_t>{0, 3, 4});
        CHECK(splitLayers(even, {{1, 1, 0.5, 1}}) == std::vector<std::size_t>{0, 2, 4});
    }

    TEST_CASE("of cuts whose slowest stages are about as long, the one whose steps are shorter is taken") {
        const auto costs = [](const std::vector<double> &layers, const std::vector<double> &messages, bool areWork) {
            CutCosts out{.layers = {{}}, .messageS = {messages}, .messagesAreWork = areWork};
            for (const double seconds : layers)
                out.layers.front().push_back({seconds / 3, seconds * 2 / 3});
            out.layers.push_back(out.layers.front());
            return out;
        };
        const std::vector<double> layers = {3.1, 4.6, 3}, silent = {0, 0, 0};
        const std::vector<std::size_t> late = {0, 2, 3}, early = {0, 1, 3};
        REQUIRE(splitLayers({layers, layers}) ==
                early); // a slow second stage waits for the first forward pass of each step
        CHECK(cutLayers("1f1b", 4, costs(layers, silent, true)) == late);
        CHECK(cutLayers("1f1b", 4, costs(layers, {0, 0.4, 0}, true)) == early); // messages that are work
        CHECK(cutLayers("1f1b", 4, costs(layers, {0, 0.4, 0}, false)) == late); // that travel while both compute
        CHECK(cutLayers("1f1b", 1, costs(layers, {0.2, 0.1, 0}, false)) ==
              late); // one micro-batch: nothing is done at the same time
        CHECK(cutLayers("1f1b", 1, costs(layers, {0.1, 0.2, 0}, false)) == early);
    }

    TEST_CASE("no border that is moved by a layer makes a cut's steps shorter") {
        std::mt19937 random(11);
        std::uniform_real_distribution<double> time(0.1, 5);
        for (int trial = 0; trial < 100; ++trial) {
            const std::size_t stages = 2 + random() % 3, count = stages + random() % 5, microBatches = 1 + random() % 6;
            CutCosts costs{.layers = std::vector(stages, std::vector<LayerTime>(count)),
                           .messageS = std::vector(stages - 1, std::vector<double>(count)),
                           .messagesAreWork = trial % 2 == 0};
            for (auto &stage : costs.layers)
                for (LayerTime &layer : stage)
                    layer = {time(random), time(random)};
            for (auto &stage : costs.messageS)
                for (double &wayS : stage)
                    wayS = time(random) / 5;
            const auto begins = cutLayers("gpipe", microBatches, costs);
            CHECK(begins.front() == 0);
            CHECK(begins.back() == count);
            const double leastS = stepOf(costs, begins, microBatches);
            for (std::size_t stage = 1; stage < stages; ++stage)
                for (const int by : {-1, 1}) {
                    auto moved = begins;
                    moved[stage] = std::size_t(int(moved[stage]) + by);
                    if (moved[stage] > moved[stage - 1] && moved[stage] < moved[stage + 1])
                        CHECK(stepOf(costs, moved, microBatches) > leastS * (1 - 1e-5));
                }
        }
    }

    TEST_CASE("both schedules end without a deadlock and idle as long as the formula says") {
        for (const std::string_view schedule : {"gpipe", "1f1b"})
            for (std::size_t stages = 1; stages <= 5; ++stages)
                for (std::size_t microBatches = 1; microBatches <= 9; ++microBatches) {
                    CAPTURE(schedule);
                    CAPTURE(stages);
                    CAPTURE(microBatches);
                    const PlayedStep played = play(schedule, stages, microBatches);
                    for (const double busyS : played.busyS)
                        CHECK(1 - busyS / played.stepS ==
                              doctest::Approx(bubbleOf(static_cast<int>(stages), static_cast<int>(microBatches))));
                }
    }

    TEST_CASE("a full pipeline hides the way of its messages: they delay a step by no more than one batch's way there "
              "and back") {
        constexpr double wayS = 0.1;
        for (const std::string_view schedule : {"gpipe", "1f1b"})
            for (std::size_t stages = 1; stages <= 5; ++stages)
                for (std::size_t microBatches = 1; microBatches <= 20; ++microBatches) {
                    CAPTURE(schedule);
                    CAPTURE(stages);
                    CAPTURE(microBatches);
                    const double later =
                        play(schedule, stages, microBatches, wayS).stepS - play(schedule, stages, microBatches).stepS;
                    CHECK(later <= 2 * wayS * static_cast<double>(stages - 1) + 1e-9);
                }
    }

    TEST_CASE("1f1b keeps the activations of two micro-batches for each stage to come, and one, gpipe those of all") {
        for (std::size_t stages = 1; stages <= 4; ++stages) {
            const PlayedStep narrow = play("1f1b", stages, 8), wide = play("gpipe", stages, 8);
            for (std::size_t stage = 0; stage < stages; ++stage) {
                CHECK(narrow.kept[stage] == std::min<std::size_t>(8, 2 * (stages - stage) - 1));
                CHECK(wide.kept[stage] == 8);
            }
        }
    }

    TEST_CASE(
        "what lies between two steps of the first stage delays each of them, and of the last one hides behind the "
        "others' backward passes") {
        const StageTimes plain{.forwardS = 1, .backwardS = 2}, busy{.forwardS = 1, .backwardS = 2, .betweenS = 1.5};
        const double without = playSteps("1f1b", {plain, plain}, 4).stepS;
        CHECK(playSteps("1f1b", {busy, plain}, 4).stepS == doctest::Approx(without + 1.5));
        CHECK(playSteps("1f1b", {plain, busy}, 4).stepS == doctest::Approx(without));
    }

    TEST_CASE("messages of one direction follow each other: a slow link sets the pace") {
        const StageTimes slow{.forwardS = 1, .backwardS = 2, .messageS = 10}, last{.forwardS = 1, .backwardS = 2};
        // One forward, eight messages, a forward and a backward, one message, a backward.
        CHECK(playSteps("gpipe", {slow, last}, 8).stepS > 8 * 10);
        CHECK(playSteps("gpipe", {slow, last}, 8).busyS.front() == doctest::Approx(24));
    }

    TEST_CASE("a forecast is told what a model's layers take with each size of a batch, pass on and hold") {
        const Ended asked =
            Process(trainerBinary(), {"--model-costs=4,256", "--model=lenet", smallDataOption()}).wait();
        CAPTURE(asked.err);
        REQUIRE(asked.code == 0);
        const auto json = nlohmann::json::parse(asked.out);
        CHECK(json.at("type") == "model");
        CHECK(json.at("batches") == nlohmann::json{4, 256});
        REQUIRE(json.at("layers").size() == 5);
        std::int64_t ofLayers = 0, ofParameters = 0;
        for (const auto &layer : json.at("layers")) {
            for (const char *pass : {"forward_s", "backward_s"}) {
                const auto seconds = layer.at(pass).get<std::vector<double>>();
                REQUIRE(seconds.size() == 2);
                CHECK(seconds[0] > 0);
                CHECK(seconds[1] > 0);
            }
            ofLayers += layer.at("parameter_bytes").get<std::int64_t>();
        }
        const auto convolution = json.at("layers").front().at("forward_s").get<std::vector<double>>();
        CHECK(convolution[1] > convolution[0]); // 64 times as much work
        for (const auto &bytes : json.at("parameter_bytes"))
            ofParameters += bytes.get<std::int64_t>();
        CHECK(ofLayers == 4 * 61'706);
        CHECK(ofParameters == ofLayers);
        CHECK(json.at("layers").front().at("output_bytes_per_sample") == 6 * 14 * 14 * 4);
        CHECK(json.at("layers").back().at("output_bytes_per_sample") == 10 * 4);
        CHECK(json.at("train_samples") == 19'200);
        CHECK(json.at("buffer_bytes").empty());
        const Ended some =
            Process(trainerBinary(), {"--model-costs=4", "--model=lenet", "--train-samples=640", smallDataOption()})
                .wait();
        REQUIRE(some.code == 0);
        CHECK(nlohmann::json::parse(some.out).at("train_samples") == 640);
        const Ended wrong = Process(trainerBinary(), {"--model-costs=0", "--model=lenet"}).wait();
        CHECK(wrong.code == 2);
        CHECK(wrong.err.find("--model-costs") != std::string::npos);
    }
}
