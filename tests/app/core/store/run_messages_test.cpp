// SPDX-License-Identifier: MIT
// What is kept of alerts that a run raises without end, what lost frames leave unknown, and what a clock that is set does to its launch.
#include <algorithm>
#include <map>

#include "analysis/compare/repeat_group.h"
#include "core_support.h"
#include "ipc/alerts.h"
#include "store/load_run.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

RunOutcome loaded(const std::string &run) {
    RunStore store(QString::fromStdString(run));
    return loadRun(store, runFolder(run)) ? outcomeOf(store) : RunOutcome();
}

bool says(const RunOutcome &run, const std::string &words) {
    return std::ranges::any_of(run.warnings, [&](const std::string &one) { return one.find(words) != one.npos; });
}

std::ptrdiff_t linesOf(const RunMessages &messages, const std::string &kind) {
    return std::ranges::count(messages.alerts(), kind, [](const AlertLine &line) { return line.alert.kind; });
}

/// Of a run that made epochs 3 and 4 alone, of which a frame was lost on the way; `resume`: from a checkpoint, as it was told.
RunOutcome lateRun(bool resume, bool script = false) {
    RunStore store(QStringLiteral("r"));
    RunRecord record = ddpRecord("r");
    record.config->epochs = 4;
    record.config->resume = resume;
    if (script)
        record.command = {"python3", "train.py"};
    store.setRecord(record);
    for (Frame one : ddpRecording()) {
        if (auto *state = std::get_if<StateFrame>(&one.body); state && state->epochs)
            state->epochs = 4;
        std::visit(
            [](auto &body) {
                if constexpr (requires { body.epoch += 2; })
                    body.epoch += 2;
            },
            one.body);
        store.take(one);
    }
    store.take(frame(makeAlert(framesLost, "rank 0 lost 1 frame"), std::nullopt, 2301));
    RunResult result = doneResult("r", 1);
    result.summary.emplace().epochs = {{1, 0.9, 5, 640}, {2, 0.8, 5, 640}, {3, 0.7, 0.45, 640}, {4, 0.6, 0.45, 640}};
    result.summary->totalTrainingTimeS = 10.9;
    store.setResult(result);
    return outcomeOf(store);
}

} // namespace

class CoreRunMessagesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void alertsOfOneKindCrowdOutNoOther() {
        RunMessages messages;
        const auto take = [&](AlertFrame alert) {
            const Frame one = frame(alert, 0, 0);
            messages.take(one, alert);
        };
        take(makeAlert(ranksRestarted, "all ranks were started again"));
        for (int i = 1; i <= 25'000; ++i)
            take(makeAlert("malformed_frame", "line " + std::to_string(i)));
        for (int i = 1; i <= 25'000; ++i) // a script's own count as one
            take({"warning", "mine_" + std::to_string(i), "odd", {}});
        take(makeAlert("rank_died", "rank 0 was killed by SIGKILL"));
        QCOMPARE(messages.alertsOf(ranksRestarted), std::uint64_t(1));
        QCOMPARE(messages.alertsOf(malformedFrame), std::uint64_t(25'000));
        const std::vector<AlertLine> &alerts = messages.alerts();
        QVERIFY2(alerts.size() < 4100, qPrintable(QString::number(alerts.size())));
        QCOMPARE(alerts.front().alert.kind, std::string("restart"));
        QCOMPARE(alerts.back().alert.kind, std::string("rank_died"));
        QVERIFY(std::ranges::is_sorted(alerts, {}, &AlertLine::number));
        const auto kept = linesOf(messages, "malformed_frame") - 1;
        QVERIFY(kept >= 1000);
        QCOMPARE(alerts[1].alert.message, std::to_string(25'000 - kept) +
                                              " earlier alerts of the kind malformed_frame are not kept here: the "
                                              "run's log has them");
        QCOMPARE(alerts[2].alert.message, "line " + std::to_string(25'000 - kept + 1));
        QCOMPARE(messages.alertsAfter(alerts.back().number - 1).size(), std::size_t(1));
        QVERIFY(messages.alertsAfter(alerts.back().number).empty());
    }

    void longMessagesAreCutAndOfLongAlertsFewerAreKept() {
        RunMessages messages;
        for (const char *kind : {"straggler", "mine"})
            for (int i = 1; i <= 1900; ++i) {
                const AlertFrame alert{"warning", kind, std::to_string(i) + std::string(60'000, 'x'), {}};
                messages.take(frame(alert, 0, 0), alert);
            }
        std::map<std::string, std::size_t> bytes;
        for (const AlertLine &line : messages.alerts()) {
            QVERIFY(line.alert.message.size() <= 4096 && line.alert.message.capacity() < 8192);
            bytes[line.alert.kind] += line.alert.message.size();
        }
        for (const std::string kind : {"straggler", "mine"}) {
            QVERIFY2(bytes[kind] <= (2 << 20) && bytes[kind] > (1 << 19), qPrintable(QString::number(bytes[kind])));
            QVERIFY(linesOf(messages, kind) > 200);
        }
        const AlertLine &first = messages.alerts().front();
        QCOMPARE(first.alert.kind, std::string("straggler"));
        QVERIFY2(first.alert.message.ends_with(
                     " earlier alerts of the kind straggler are not kept here: the run's log has them"),
                 first.alert.message.c_str());
        QCOMPARE(std::stoi(first.alert.message) + linesOf(messages, "straggler") - 1, std::ptrdiff_t(1900));
        QVERIFY(messages.alerts().back().alert.message.starts_with("1900x"));
        StateFrame state;
        state.detail = std::string(60'000, 'x');
        messages.take(frame(state, 0, 0), state);
        QCOMPARE(messages.stateChanges().back().detail.size(), std::size_t(4096));
    }

    void aConsoleOfLongLinesIsBoundToo() {
        RunMessages messages;
        const LogFrame body{"info", std::string(1 << 20, 'x'), "rank"};
        for (int i = 0; i < 200; ++i)
            messages.take(frame(body, 0, 0), body);
        QVERIFY2(messages.console().size() < 65, qPrintable(QString::number(messages.console().size())));
        QVERIFY(messages.console().size() > 50);
        QCOMPARE(messages.consoleDropped() + messages.console().size(), std::uint64_t(200));
    }

    void restartsAndLostFramesCountHoweverManyAlertsCameBefore() {
        const Home home;
        const std::string run = finishedRun(1);
        std::vector<Frame> frames = ddpRecording();
        for (int i = 0; i < 10'000; ++i)
            frames.push_back(frame(makeAlert("straggler", "rank 1 is slower"), 1, 2300));
        frames.push_back(frame(makeAlert(framesLost, "rank 0 lost 900 frames"), std::nullopt, 2301));
        for (int i = 0; i < 2500; ++i)
            frames.push_back(frame(makeAlert(ranksRestarted, "all ranks were started again"), std::nullopt, 2302));
        RunStore store(QString::fromStdString(run));
        QVERIFY(loadRun(store, runFolder(run)).has_value());
        QCOMPARE(outcomeOf(store).restarts, 0);
        for (const Frame &one : frames)
            store.take(one);
        QCOMPARE(outcomeOf(store).restarts, 2500);
        QCOMPARE(store.messages().alertsOf(framesLost), std::uint64_t(1));
        QCOMPARE(linesOf(store.messages(), "frames_lost"), std::ptrdiff_t(1));
    }

    void aLostFrameHidesNoCheckpointFromWhichARunWentOn() {
        RunOutcome scratch;
        scratch.state = RunState::Done;
        for (const bool script : {false, true}) {
            const RunOutcome run = lateRun(true, script);
            QCOMPARE(run.firstEpoch, 3);
            QCOMPARE(run.earlierS, 10.0);
            QVERIFY(says(run, "its log lacks frames: whether it made epochs before epoch 3"));
            QVERIFY(!whyOtherEpochs({"scratch", {scratch}, true}, {"late", {run}, false}).empty());
        }
        QCOMPARE(lateRun(false, true).firstEpoch, 3); // what a script was told to resume says nothing
        const RunOutcome whole = lateRun(false);      // lockstep-trainer went on from none: its first epochs are lost
        QCOMPARE(whole.firstEpoch, 1);
        QVERIFY(whole.earlierS <= 0 && !says(whole, "the first one in it"));
    }

    void anEpochBeganHereIfThereIsAStepOfItThoughItsReportIsLost() {
        RunStore store(QStringLiteral("r"));
        RunRecord record = ddpRecord("r");
        record.command = {"python3", "train.py"};
        store.setRecord(record);
        for (const Frame &one : ddpRecording())
            if (const auto *epoch = std::get_if<EpochFrame>(&one.body); !epoch || epoch->epoch > 1)
                store.take(one);
        QCOMPARE(outcomeOf(store).firstEpoch, 2);
        store.take(frame(makeAlert(framesLost, "rank 0 lost 1 frame"), std::nullopt, 2301));
        QCOMPARE(outcomeOf(store).firstEpoch, 1);
    }

    void aFinalLossIsOfTheLastEpochThatAnyRankReports() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(ddpRecord("r"));
        for (const Frame &one : ddpRecording()) {
            const auto *epoch = std::get_if<EpochFrame>(&one.body);
            if (one.rank && (one.rank != 1 || !epoch || epoch->epoch == 1))
                store.take(one);
        }
        QCOMPARE(outcomeOf(store).finalLoss, std::optional(1.0)); // so far: the other rank may still report it
        RunResult result = doneResult("r", 1);
        store.setResult(result);
        const RunOutcome run = outcomeOf(store);
        QVERIFY(!run.finalLoss && !run.totalTrainingTimeS);
        QVERIFY2(run.testAccuracy > 0.85, "that of the second epoch");
        QVERIFY(says(run, "its log has 1 of 2 epochs of rank 1"));
        result.summary.emplace().epochs = {{1, 1.0, 0.45, 1280}, {2, 0.25, 0.45, 1280}};
        store.setResult(result);
        QCOMPARE(outcomeOf(store).finalLoss, std::optional(0.25));
    }

    void aLaunchThatTookLongerThanTheRunLastedIsUnknown() {
        const Home home;
        const RunOutcome whole = loaded(finishedRun(1));
        QVERIFY(whole.launchS && whole.warnings.empty());
        RunRecord record = ddpRecord("");
        record.startWallUs -= 14'215'000'000; // the clock was set forward before training
        const RunOutcome stepped = loaded(finishedRun(2, &record));
        QVERIFY(!stepped.launchS);
        QVERIFY(says(stepped, "but the run lasted 2.50 s from launch to exit: how long it took to start is unknown"));
    }

    void whatOthersHaveWrittenTakesOneLine() {
        const Home home;
        RunRecord record = ddpRecord("");
        record.name = "DDP\n\nworth it";
        record.deviceNames = {"cpu:0\nworth it", "cpu:1"};
        record.machines.front().cpuModel = "X\nworth it";
        const std::string run = finishedRun(1, &record);
        RunResult result = doneResult(run, 0);
        result.warnings = {"odd\n- all good"};
        write(runFolder(run).result(), toJson(result));
        const RunOutcome found = loaded(run);
        QCOMPARE(found.name, std::string("DDP  worth it"));
        QCOMPARE(found.deviceNames.front(), std::string("cpu:0 worth it"));
        QCOMPARE(found.conditions.machines.front().cpuModel, std::string("X worth it"));
        QVERIFY(says(found, "odd - all good"));
    }

    void aRunThatComesUpIsStartingEverywhere() {
        RunStore store(QStringLiteral("r"));
        QCOMPARE(store.lifecycle().sentence(), QStringLiteral("starting"));
        StateFrame state;
        state.state = RunState::Init;
        store.take(frame(state, std::nullopt, 1));
        QCOMPARE(store.state(), std::optional(RunState::Init));
        QCOMPARE(store.lifecycle().sentence(), QStringLiteral("starting"));
    }
};

QTEST_GUILESS_MAIN(CoreRunMessagesTest)
#include "run_messages_test.moc"
