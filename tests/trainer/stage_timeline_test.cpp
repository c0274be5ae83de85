// SPDX-License-Identifier: MIT
// When the stages of a pipeline compute within a step: the means, and what real ranks report.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "ipc/stage_plan.h"
#include "tests/trainer/trainer_process.h"
#include "trainer/report/stage_timeline.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

CommFrame moved(StageTimeline &timeline) {
    CommFrame frame;
    timeline.moveTo(frame);
    return frame;
}

} // namespace

TEST_SUITE("stage_timeline") {
    TEST_CASE("times are means since the first stage began the step, and start anew with each frame") {
        StageTimeline timeline;
        const auto step = [&](std::int64_t beginNs, std::int64_t tookNs) {
            timeline.add(Phase::Forward, 0, beginNs + 5, beginNs + 5 + tookNs);
            timeline.add(Phase::Backward, 0, beginNs + 100, beginNs + 100 + 2 * tookNs);
            timeline.endStep(beginNs);
        };
        CHECK(moved(timeline) == CommFrame());
        step(1'000, 10);
        step(7'000, 30);
        const CommFrame both = moved(timeline);
        CHECK(both.stageSteps == 2);
        REQUIRE(both.stageWork.size() == 2);
        CHECK(both.stageWork[0].phase == "forward");
        CHECK(both.stageWork[0].startS == doctest::Approx(5e-9));
        CHECK(both.stageWork[0].endS == doctest::Approx(25e-9));
        CHECK(both.stageWork[1].phase == "backward");
        CHECK(both.stageWork[1].endS == doctest::Approx(140e-9));
        CHECK(moved(timeline).stageWork.empty());
        step(9'000, 50);
        CHECK(moved(timeline).stageWork[0].endS == doctest::Approx(55e-9));
    }

    TEST_CASE("a step of fewer micro-batches is left out, and one of more begins anew") {
        StageTimeline timeline;
        const auto step = [&](std::size_t microBatches, std::int64_t tookNs) {
            for (std::size_t i = 0; i < microBatches; ++i)
                timeline.add(Phase::Forward, i, 0, tookNs);
            timeline.endStep(0);
        };
        step(1, 10);
        step(2, 20);
        step(1, 30);
        const CommFrame frame = moved(timeline);
        CHECK(frame.stageSteps == 1);
        REQUIRE(frame.stageWork.size() == 2);
        CHECK(frame.stageWork[1].endS == doctest::Approx(20e-9));
    }

    TEST_CASE("of more parts than a frame may have nothing is reported") {
        StageTimeline timeline;
        for (std::size_t i = 0; i <= mostStageWork; ++i)
            timeline.add(Phase::Forward, i, 0, 1);
        timeline.endStep(0);
        CHECK(moved(timeline).stageWork.empty());
    }

    TEST_CASE("a pipeline that is cut by measured times says how, and can be cut so again") {
        const TempFolder folder;
        const auto run = [&](std::vector<std::string> more) {
            more.insert(more.end(), {"--method=pipeline", "--summary=" + (folder / "s")});
            auto all = DdpRun(2, more).wait();
            for (const Ended &ended : all) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
            }
            return all;
        };
        const auto measured = run({});
        const std::string cut = readSummary(folder / "s").stageLayers;
        CHECK(std::set<std::string>{"1,4", "2,3", "3,2", "4,1"}.contains(cut));
        CHECK(measured[0].err.find("--stage-layers=" + cut + " cuts the model so again") != std::string::npos);
        CHECK(measured[1].err.find("--stage-layers") == std::string::npos);
        const auto given = run({"--stage-layers=3,2"});
        CHECK(readSummary(folder / "s").stageLayers == "3,2");
        CHECK(given[0].err.find("--stage-layers") == std::string::npos);
    }

    TEST_CASE(
        "real stages report their work in the schedule's order, on one clock, and no micro-batch before it has come") {
        for (const std::string schedule : {"gpipe", "1f1b"}) {
            CAPTURE(schedule);
            const TempFolder folder;
            DdpRun run(2, {"--method=pipeline", "--micro-batches=3", "--pipeline-schedule=" + schedule,
                           "--train-samples=1950", "--frames=" + (folder / "f")});
            for (const Ended &ended : run.wait()) {
                CAPTURE(ended.err);
                REQUIRE(ended.code == 0);
            }
            const auto frames = readFrames(folder / "f");
            std::map<std::pair<std::string, int>, StageWork> first, last; // by phase and micro-batch
            for (const std::size_t stage : {0u, 1u}) {
                const auto reports = bodiesOf<CommFrame>(frames, static_cast<int>(stage));
                REQUIRE(!reports.empty());
                const CommFrame &report = reports.back();
                CHECK(report.stageSteps <= report.lastStep - report.firstStep + 1);
                const auto actions = stageActions(schedule, stage, 2, 3);
                REQUIRE(report.stageWork.size() == actions.size());
                double before = 0;
                for (std::size_t i = 0; i < actions.size(); ++i) {
                    const StageWork &work = report.stageWork[i];
                    CHECK((work.phase == "forward") == (actions[i].kind == StageAction::Forward));
                    CHECK(work.microBatch == static_cast<int>(actions[i].microBatch));
                    CHECK(work.startS >= before);
                    CHECK(work.endS > work.startS);
                    before = work.endS;
                    (stage == 0 ? first : last)[{work.phase, work.microBatch}] = work;
                }
            }
            for (int micro = 0; micro < 3; ++micro) {
                CHECK(last[{"forward", micro}].startS > first[{"forward", micro}].endS);
                CHECK(first[{"backward", micro}].startS > last[{"backward", micro}].endS);
            }
        }
    }
}
