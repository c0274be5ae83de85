// SPDX-License-Identifier: MIT
// A slow rank of a script with DDP is named while it runs.
#include <doctest/doctest.h>

#include "trainer/agent/session/slow_rank_watch.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace {

PhaseTimes phases(double load, double forward, double backward, std::optional<double> exposed) {
    PhaseTimes times{
        {"load", {load, {}}}, {"forward", {forward, {}}}, {"backward", {backward, {}}}, {"other", {0.001, {}}}};
    if (exposed)
        times["exposed"] = {*exposed, {}};
    return times;
}

/// Two ranks whose reports of steps reach the watch.
struct Watched {
    explicit Watched(const About &about = {{"method", "ddp"}}, int ranks = 2) {
        for (int rank = 0; rank < ranks; ++rank) {
            StateFrame init;
            init.host = "node-" + std::to_string(rank);
            init.worldSize = 2;
            init.about = about;
            hear(rank, init);
        }
    }
    void hear(int rank, FrameBody body) {
        Frame frame;
        frame.rank = rank;
        frame.body = std::move(body);
        watch.take(rank, frame);
    }
    /// So many reports of 4 steps each, of 0.1 s.
    void reports(int count, const PhaseTimes &first, const PhaseTimes &second) {
        for (int i = 0; i < count; ++i) {
            StepsFrame steps;
            steps.firstStep = step;
            step += 4;
            steps.lastStep = step - 1;
            steps.count = 4;
            steps.phases = first;
            hear(0, steps);
            steps.phases = second;
            hear(1, steps);
        }
    }
    SlowRankWatch watch;
    std::int64_t step = 0;
};

const PhaseTimes quick = phases(0.01, 0.03, 0.03, 0.03), waits = phases(0.01, 0.03, 0.03, 0.06),
                 slowBackward = phases(0.01, 0.03, 0.06, 0.03), slowLoad = phases(0.04, 0.03, 0.03, 0.03);

std::string messageOf(const FrameBody &body) {
    const auto *alert = std::get_if<AlertFrame>(&body);
    return alert ? alert->kind + ": " + alert->message : std::get<LogFrame>(body).message;
}

} // namespace

TEST_SUITE("slow_rank") {
    TEST_CASE(
        "a rank of a script is named with its phase, its host and how late it is, once, and when it keeps up again") {
        Watched two;
        two.reports(40, quick, quick);
        CHECK(two.watch.takeFound().empty());
        two.reports(40, waits, slowBackward);
        auto found = two.watch.takeFound();
        REQUIRE(found.size() == 1);
        CHECK(messageOf(found[0]) ==
              "straggler: rank 1 on node-1 is slower than the others in backward: its gradients are ready 7.5 ms later "
              "(median of 20 windows of steps), so the other ranks wait");
        CHECK(std::get<AlertFrame>(found[0]).step.value_or(0) < 4 * 65);
        two.reports(240, quick, quick);
        found = two.watch.takeFound();
        REQUIRE(found.size() == 1);
        CHECK(messageOf(found[0]) == "rank 1 on node-1 is no longer slower than the others in backward");
    }

    TEST_CASE("loading is named as loading, and after a restart ranks are judged anew") {
        Watched two;
        two.reports(15, slowLoad, waits);
        two.watch.startOver();
        two.reports(30, slowLoad, waits); // ranks that have not said hello
        CHECK(two.watch.takeFound().empty());
        Watched again;
        again.reports(30, slowLoad, waits);
        const auto found = again.watch.takeFound();
        REQUIRE(found.size() == 1);
        CHECK(messageOf(found[0]).starts_with("straggler: rank 0 on node-0 is slower than the others in load"));
    }

    TEST_CASE(
        "nobody is named among our own trainer's ranks, without the others, or where the time of sums is unknown") {
        const PhaseTimes unknown = phases(0.01, 0.03, 0.03, {}), slowUnknown = phases(0.01, 0.03, 0.06, {});
        Watched ours(About{}), fsdp(About{{"method", "fsdp"}}), alone(About{{"method", "ddp"}}, 1), gpus;
        for (Watched *each : {&ours, &fsdp, &alone})
            each->reports(60, waits, slowBackward);
        gpus.reports(60, unknown, slowUnknown);
        for (Watched *each : {&ours, &fsdp, &alone, &gpus})
            CHECK(each->watch.takeFound().empty());
    }
}
