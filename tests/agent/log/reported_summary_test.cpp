// SPDX-License-Identifier: MIT
// The summary that the agent makes of what ranks report, for scripts that write none.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "trainer/agent/log/reported_summary.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace {

/// An epoch of one rank: a window of its steps, and its end.
void reportEpoch(ReportedSummary &reported, int epoch, std::int64_t firstStep, double seconds) {
    Frame frame;
    StepsFrame steps;
    steps.epoch = epoch;
    steps.firstStep = firstStep;
    steps.lastStep = firstStep + 9;
    steps.count = 10;
    frame.body = steps;
    reported.take(0, frame);
    EpochFrame done;
    done.epoch = epoch;
    done.durationS = seconds;
    done.steps = 10;
    done.phases["load"].sumS = seconds;
    frame.body = done;
    reported.take(0, frame);
}

RunResult resultOf(const ReportedSummary &reported) {
    RunResult result;
    result.state = RunState::Done;
    reported.addTo(result, RunRecord());
    REQUIRE(result.summary);
    return result;
}

} // namespace

TEST_CASE("an epoch that is reported again without a restart leaves the training time unknown") {
    ReportedSummary reported;
    RunResult result;
    for (int fold = 0; fold < 2; ++fold) {
        reportEpoch(reported, 1, 20 * fold, 1);
        reportEpoch(reported, 2, 20 * fold + 10, 2);
        result = resultOf(reported);
        CHECK(result.summary->totalTrainingTimeS.has_value() == (fold == 0));
        CHECK(result.warnings.size() == static_cast<std::size_t>(fold));
    }
    CHECK(result.warnings.front().starts_with("rank 0 reported epoch 1 more than once"));
}

TEST_CASE(
    "a command that trains several times in turn has no training time, and is not taken for one that was restarted") {
    ReportedSummary reported;
    for (int training = 0; training < 3; ++training) {
        reportEpoch(reported, 1, 0, 10);
        if (training == 0)
            reportEpoch(reported, 2, 10, 20);
        Frame frame;
        StateFrame done;
        done.state = RunState::Done;
        frame.body = done;
        reported.take(0, frame);
    }
    const RunResult result = resultOf(reported);
    CHECK(result.summary->epochs.size() == 2);
    CHECK_FALSE(result.summary->totalTrainingTimeS);
    CHECK(result.warnings.front().starts_with("rank 0 reported epoch 1 more than once"));
}

TEST_CASE("epochs that ranks report again after a restart count as the last attempt made them") {
    for (const bool byAgent : {true, false}) { // another program may restart a listened run's ranks
        ReportedSummary reported;
        reportEpoch(reported, 1, 0, 10);
        reportEpoch(reported, 2, 10, 20);
        if (byAgent)
            reported.startOver();
        reportEpoch(reported, 1, 0, 1);
        reportEpoch(reported, 2, 10, 2);
        const RunResult result = resultOf(reported);
        CHECK(result.summary->totalTrainingTimeS == 3.0);
        CHECK(result.warnings.empty());
    }
}

TEST_CASE("what ended before the checkpoint that restarted ranks go on from counts once, and stays") {
    for (const bool byAgent : {true, false}) {
        CAPTURE(byAgent);
        ReportedSummary reported;
        reportEpoch(reported, 1, 0, 10);
        reportEpoch(reported, 2, 10, 20);
        reportEpoch(reported, 3, 20, 40);
        if (byAgent)
            reported.startOver();
        reportEpoch(reported, 3, 20, 4);
        reportEpoch(reported, 4, 30, 5);
        const RunResult result = resultOf(reported);
        CHECK(result.summary->epochs.size() == 4);
        CHECK(result.summary->steps == 40);
        CHECK(result.summary->totalTrainingTimeS == 39.0);
        CHECK(result.summary->phasesS.at("load") == 39.0);
        CHECK(result.warnings.empty());
    }
}

TEST_CASE("what is unknown of a script that was started again is said with its summary") {
    ReportedSummary reported;
    reportEpoch(reported, 1, 0, 10);
    reported.startOver();
    reported.countOn(1);
    reportEpoch(reported, 2, 10, 20);
    const RunResult result = resultOf(reported);
    CHECK(result.summary->epochs.size() == 2);
    CHECK(result.summary->totalTrainingTimeS == 30.0);
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings.front().starts_with("the script was started again after epoch 1: "));
}

TEST_CASE("a run that begins with a later epoch than the first has no training time, but all else") {
    for (const int first : {1, 4}) {
        CAPTURE(first);
        ReportedSummary reported;
        reportEpoch(reported, first, 0, 10);
        reportEpoch(reported, first + 1, 10, 20);
        const RunResult result = resultOf(reported);
        CHECK(result.summary->epochs.size() == 2);
        CHECK(result.summary->phasesS.at("load") == 30.0);
        CHECK(result.summary->totalTrainingTimeS.has_value() == (first == 1));
        REQUIRE(result.warnings.size() == (first == 1 ? 0 : 1));
        if (first != 1)
            CHECK(result.warnings.front().starts_with("the first epoch that was reported is number 4, "));
        for (const RunState state : {RunState::Done, RunState::Stopped, RunState::Failed}) {
            RunResult ofNodes; // whose summary can't be made here
            ofNodes.state = state;
            reported.addWarnings(ofNodes, RunRecord());
            CHECK_FALSE(ofNodes.summary);
            CHECK(ofNodes.warnings.size() == (first == 1 || state == RunState::Failed ? 0 : 1));
        }
    }
}

TEST_CASE("of ranks that report different losses or tests of an epoch the lowest one's count") {
    ReportedSummary reported;
    const auto report = [&](int rank, FrameBody body) {
        Frame frame;
        frame.body = std::move(body);
        reported.take(rank, frame);
    };
    for (const int rank : {1, 0, 2}) {
        EpochFrame done;
        done.epoch = 1;
        done.durationS = 1;
        done.samples = 10;
        done.loss = rank == 0 ? 2.0 : 0.001;
        report(rank, done);
        report(rank, EvalFrame{1, rank == 0 ? 0.5 : 0.99, {}, 10, {}, {}});
    }
    CHECK(resultOf(reported).summary->epochs.front().loss == 2.0);
    CHECK(resultOf(reported).summary->testAccuracy == 0.5);
    report(2, EvalFrame{2, 0.7, {}, 10, {}, {}}); // a later one, though another rank made it
    CHECK(resultOf(reported).summary->testAccuracy == 0.7);
}

TEST_CASE("without samples an epoch's loss is the mean over the ranks") {
    ReportedSummary reported;
    for (const int rank : {1, 0}) {
        EpochFrame done;
        done.epoch = 1;
        done.durationS = 1;
        done.loss = rank == 0 ? 1.0 : 2.0;
        Frame frame;
        frame.body = done;
        reported.take(rank, frame);
    }
    CHECK(resultOf(reported).summary->epochs.front().loss == 1.5);
}

TEST_CASE("the accuracy of a run is that of its newest tested epoch, whatever comes later of older ones") {
    ReportedSummary reported;
    const auto test = [&](int rank, int epoch, double accuracy) {
        Frame frame;
        frame.body = EvalFrame{epoch, accuracy, {}, 10, {accuracy}, {}};
        reported.take(rank, frame);
    };
    for (int epoch = 1; epoch <= 3; ++epoch) {
        reportEpoch(reported, epoch, 10 * (epoch - 1), 1);
        test(0, epoch, 0.3 * epoch);
    }
    for (int epoch = 1; epoch <= 3; ++epoch) // another rank, whose frames come later
        test(1, epoch, 0.1);
    CHECK(resultOf(reported).summary->testAccuracy == 0.3 * 3);
    CHECK(resultOf(reported).summary->perClassAccuracy == std::vector<double>{0.3 * 3});
    reportEpoch(reported, 3, 20, 1); // restarted ranks go on from a checkpoint behind epoch 2
    CHECK(resultOf(reported).summary->testAccuracy == 0.3 * 2);
    test(1, 3, 0.8);
    CHECK(resultOf(reported).summary->testAccuracy == 0.8);
}

TEST_CASE("a loss that is not finite, of any rank, leaves its epoch's loss unknown") {
    for (const int diverged : {0, 1, 2}) {
        CAPTURE(diverged);
        ReportedSummary reported;
        for (const int rank : {1, 0, 2})
            for (const int epoch : {1, 2}) {
                EpochFrame done;
                done.epoch = epoch;
                done.durationS = 1;
                done.loss = epoch == 2 && rank == diverged ? std::numeric_limits<double>::quiet_NaN() : 0.5;
                Frame frame;
                frame.body = done;
                reported.take(rank, frame);
            }
        const RunResult result = resultOf(reported);
        CHECK(result.summary->epochs.front().loss == 0.5);
        CHECK_FALSE(result.summary->epochs.back().loss);
    }
}

TEST_CASE("of more epochs than are added up no sum of a part is told, and a warning says where they are") {
    constexpr int most = 100'000;
    ReportedSummary reported;
    for (int epoch = 1; epoch <= most; ++epoch)
        reportEpoch(reported, epoch, 10LL * (epoch - 1), 1);
    CHECK(resultOf(reported).summary->totalTrainingTimeS == double(most));
    CHECK(resultOf(reported).warnings.empty());
    reportEpoch(reported, most + 1, 10LL * most, 1);
    Frame frame;
    frame.body = EvalFrame{most + 1, 0.9, {}, 10, {}, {}};
    reported.take(0, frame);
    const RunResult result = resultOf(reported);
    CHECK_FALSE(result.summary->totalTrainingTimeS);
    CHECK(result.summary->steps == 0);
    CHECK(result.summary->epochs.empty());
    CHECK(result.summary->phasesS.empty());
    CHECK(result.summary->testAccuracy == 0.9);
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings.front().starts_with("it reported more than 100000 epochs, "));
    reported.startOver(); // ranks that go on before it make them again
    reportEpoch(reported, most, 10LL * (most - 1), 1);
    CHECK(resultOf(reported).summary->steps == 10LL * most);
    CHECK(resultOf(reported).warnings.empty());
}

TEST_CASE("what a script says of itself is kept in bounds") {
    ReportedSummary reported;
    RunRecord record;
    for (int i = 0; i < 1000; ++i) {
        Frame frame;
        StateFrame state;
        state.about.emplace("word" + std::to_string(i), "x");
        frame.body = state;
        reported.take(0, frame);
    }
    Frame frame;
    EpochFrame epoch;
    epoch.epoch = 1;
    epoch.durationS = 1;
    for (int i = 0; i < 1000; ++i)
        epoch.phases["phase" + std::to_string(i)].sumS = 1;
    frame.body = epoch;
    reported.take(0, frame);
    const auto summary = reported.summary(record, 1);
    REQUIRE(summary);
    CHECK(summary->phasesS.size() == 256);
}

TEST_CASE("a summary has the facts and the backend of the lowest rank, whichever rank is heard first") {
    ReportedSummary reported;
    for (const int rank : {2, 0, 1}) {
        Frame frame;
        StateFrame init;
        init.about = {{"precision", rank == 0 ? "bf16" : "fp32"}};
        init.backend = rank == 0 ? "gloo" : "nccl";
        frame.body = init;
        reported.take(rank, frame);
    }
    reportEpoch(reported, 1, 0, 1);
    const Summary summary = *resultOf(reported).summary;
    CHECK(summary.precision == "bf16");
    CHECK(summary.backend == "gloo");
}

TEST_CASE("a stopped run's summary is of the epochs that it ended") {
    ReportedSummary reported;
    reportEpoch(reported, 1, 0, 1);
    reportEpoch(reported, 2, 10, 2);
    Frame frame;
    StepsFrame steps;
    steps.epoch = 3;
    steps.firstStep = 20;
    steps.lastStep = 24;
    steps.count = 5;
    steps.samples = 40;
    steps.loss = LossWindow{1, 1, 1, 1};
    frame.body = steps;
    reported.take(0, frame);
    RunResult result;
    result.state = RunState::Done;
    reported.addTo(result, RunRecord());
    CHECK_FALSE(result.summary);
    result.state = RunState::Stopped;
    reported.addTo(result, RunRecord());
    REQUIRE(result.summary);
    CHECK(result.summary->epochs.size() == 2);
    CHECK(result.summary->steps == 20);
    CHECK(result.summary->totalTrainingTimeS == 3.0);
    RunRecord record;
    record.config.emplace().resume = true; // its ranks reported nothing of the epochs before the checkpoint
    RunResult resumed;
    resumed.state = RunState::Stopped;
    reported.addTo(resumed, record);
    CHECK_FALSE(resumed.summary);
    CHECK(resumed.warnings.empty());
}
