// SPDX-License-Identifier: MIT
// How a pipeline shares out layers and work, without a model.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "ipc/methods.h"
#include "trainer/strategies/stage_plan.h"

using namespace lockstep::trainer;

namespace {

using Seconds = std::vector<std::vector<double>>;

double slowestOf(const Seconds &seconds, const std::vector<std::size_t> &begins) {
    double slowest = 0;
    for (std::size_t stage = 0; stage < seconds.size(); ++stage)
        slowest = std::max(slowest, std::accumulate(seconds[stage].begin() + std::ptrdiff_t(begins[stage]),
                                                    seconds[stage].begin() + std::ptrdiff_t(begins[stage + 1]), 0.0));
    return slowest;
}

/// The least time of the slowest stage, by trying every way.
double leastSlowest(const Seconds &seconds) {
    const std::size_t layers = seconds.front().size(), stages = seconds.size();
    double least = 1e9;
    std::vector<std::size_t> begins(stages + 1, 0);
    begins.back() = layers;
    const auto place = [&](auto &&self, std::size_t stage) -> void {
        if (stage == stages) {
            least = std::min(least, slowestOf(seconds, begins));
            return;
        }
        for (begins[stage] = begins[stage - 1] + 1; begins[stage] + (stages - stage) <= layers; ++begins[stage])
            self(self, stage + 1);
    };
    place(place, 1);
    return least;
}

struct Played {
    double end = 0;                ///< of the step
    std::vector<double> busy;      ///< of each stage
    std::vector<std::size_t> kept; ///< the most micro-batches that each stage held activations of
};

/// Plays a step in which a forward takes 1, a backward takes 2, and a message `wayS`. An order that deadlocks never ends: CHECKed.
Played play(std::string_view schedule, std::size_t stages, std::size_t microBatches, double wayS = 0) {
    std::vector<std::vector<StageAction>> actions;
    for (std::size_t stage = 0; stage < stages; ++stage)
        actions.push_back(stageActions(schedule, stage, stages, microBatches));
    std::map<std::pair<std::size_t, std::size_t>, double> forward, backward; // by stage and micro-batch: its end
    Played played{0, std::vector<double>(stages), std::vector<std::size_t>(stages)};
    std::vector<std::size_t> next(stages), held(stages);
    std::vector<double> freeAt(stages);
    for (bool moved = true; std::exchange(moved, false);)
        for (std::size_t stage = 0; stage < stages; ++stage)
            while (next[stage] < actions[stage].size()) {
                const auto [kind, micro] = actions[stage][next[stage]];
                const bool ahead = kind == StageAction::Forward;
                const bool atEnd = ahead ? stage == 0 : stage + 1 == stages;
                const auto &ends = ahead ? forward : backward;
                const auto needed = ends.find({ahead ? stage - 1 : stage + 1, micro});
                if (!atEnd && needed == ends.end())
                    break;
                if (!ahead && !forward.contains({stage, micro}))
                    break;
                const double start = std::max(freeAt[stage], atEnd ? 0 : needed->second + wayS), takes = ahead ? 1 : 2;
                freeAt[stage] = start + takes;
                (ahead ? forward : backward)[{stage, micro}] = freeAt[stage];
                played.busy[stage] += takes;
                held[stage] += ahead ? 1 : 0;
                played.kept[stage] = std::max(played.kept[stage], held[stage]);
                held[stage] -= ahead ? 0 : 1;
                played.end = std::max(played.end, freeAt[stage]);
                ++next[stage];
                moved = true;
            }
    for (std::size_t stage = 0; stage < stages; ++stage)
        CHECK(next[stage] == 2 * microBatches);
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
            Seconds seconds(stages, std::vector<double>(layers));
            for (auto &stage : seconds)
                for (double &layer : stage)
                    layer = time(random);
            const auto begins = splitLayers(seconds);
            REQUIRE(begins.size() == stages + 1);
            CHECK(begins.front() == 0);
            CHECK(begins.back() == layers);
            for (std::size_t stage = 0; stage < stages; ++stage)
                CHECK(begins[stage] < begins[stage + 1]);
            CHECK(slowestOf(seconds, begins) == doctest::Approx(leastSlowest(seconds)));
        }
    }

    TEST_CASE("a device that is half as fast gets half the layers") {
        const std::vector<double> fast(6, 1), slow(6, 2);
        CHECK(splitLayers({fast, slow}) == std::vector<std::size_t>{0, 4, 6});
        CHECK(splitLayers({slow, fast}) == std::vector<std::size_t>{0, 2, 6});
    }

    TEST_CASE("both schedules end without a deadlock and idle as long as the formula says") {
        for (const std::string_view schedule : {"gpipe", "1f1b"})
            for (std::size_t stages = 1; stages <= 5; ++stages)
                for (std::size_t microBatches = 1; microBatches <= 9; ++microBatches) {
                    CAPTURE(schedule);
                    CAPTURE(stages);
                    CAPTURE(microBatches);
                    const Played played = play(schedule, stages, microBatches);
                    for (const double busy : played.busy)
                        CHECK(1 - busy / played.end == doctest::Approx(lockstep::bubbleOf(
                                                           static_cast<int>(stages), static_cast<int>(microBatches))));
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
                        play(schedule, stages, microBatches, wayS).end - play(schedule, stages, microBatches).end;
                    CHECK(later <= 2 * wayS * static_cast<double>(stages - 1) + 1e-9);
                }
    }

    TEST_CASE("1f1b keeps the activations of two micro-batches for each stage to come, and one, gpipe those of all") {
        for (std::size_t stages = 1; stages <= 4; ++stages) {
            const Played narrow = play("1f1b", stages, 8), wide = play("gpipe", stages, 8);
            for (std::size_t stage = 0; stage < stages; ++stage) {
                CHECK(narrow.kept[stage] == std::min<std::size_t>(8, 2 * (stages - stage) - 1));
                CHECK(wide.kept[stage] == 8);
            }
        }
    }
}
