// SPDX-License-Identifier: MIT
#include <fstream>
#include <unistd.h>

#include <QSignalSpy>

#include "core_support.h"
#include "follow/run_follower.h"
#include "ipc/alerts.h"
#include "ipc/file_system.h"
#include "ipc/log.h"
#include "ipc/scalars.h"
#include "store/load_run.h"
#include "store/nodes_replay.h"
#include "store/run_index.h"
#include "store/run_outcome.h"
#include "store/run_progress.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// All a table or chart can show of a run, as text.
QString whole(const RunStore &store) {
    QString text = store.lifecycle().sentence() + u'\n' + store.identity().title() + u'\n';
    for (const LossPoint &point : store.losses().all().points())
        text += QStringLiteral("%1 %2 %3 %4 %5\n")
                    .arg(point.step)
                    .arg(point.epoch)
                    .arg(point.loss, 0, 'g', 17)
                    .arg(point.wallUs)
                    .arg(point.samples);
    for (const MergedEpoch &epoch : store.epochs().merged())
        text += QStringLiteral("%1 %2 %3 %4\n")
                    .arg(epoch.epoch)
                    .arg(epoch.durationS)
                    .arg(epoch.loss.value_or(-1))
                    .arg(epoch.samples);
    for (const auto &[rank, info] : store.ranks().all())
        for (const auto &[name, time] : store.phases().of(rank))
            text += QStringLiteral("%1 %2 %3\n").arg(rank).arg(QString::fromStdString(name)).arg(time.sumS);
    text += QStringLiteral("%1 %2 %3")
                .arg(store.messages().console().size())
                .arg(store.messages().alerts().size())
                .arg(store.log().frames);
    return text;
}

void follow(RunStore &store, const std::string &run) {
    RunFollower follower(&store, QString::fromStdString(run));
    QSignalSpy ended(&follower, &RunFollower::ended);
    follower.start();
    QVERIFY(ended.wait(test::hangLimitMs));
}

} // namespace

class CoreStoreTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void anEpochIsAsLongAsItsSlowestRankAndItsSamplesAddUp() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(ddpRecord("r"));
        for (const Frame &one : ddpRecording())
            store.take(one);
        QCOMPARE(store.epochs().merged().size(), std::size_t(2));
        const MergedEpoch &first = store.epochs().merged().front();
        QCOMPARE(first.epoch, 1);
        QCOMPARE(first.durationS, 0.45);
        QCOMPARE(first.samples, std::int64_t(1280));
        QVERIFY(first.complete);
        QCOMPARE(*first.loss, 1.0);
        QCOMPARE(first.devices.size(), std::size_t(2));
        QCOMPARE(first.eval->accuracy, 0.8);
        QVERIFY(store.state() == std::optional(RunState::Done));
    }

    void epochsThatFramesSkipOverTakeNoMemoryWithoutEnd() {
        RunStore store(QStringLiteral("r"));
        for (int i = 1; i <= 40; ++i) {
            EpochFrame epoch;
            epoch.epoch = 9'000 * i;
            epoch.durationS = 1;
            Frame frame;
            frame.rank = 0;
            frame.monoNs = frame.wallUs = i;
            frame.body = epoch;
            store.take(frame);
        }
        QVERIFY2(store.epochs().merged().size() < 11'000, qPrintable(QString::number(store.epochs().merged().size())));
    }

    void theRanksWindowsMakeOneCurveWeightedBySamples() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(ddpRecord("r"));
        for (const Frame &one : ddpRecording())
            store.take(one);
        const auto &points = store.losses().all().points();
        QCOMPARE(points.size(), std::size_t(8));
        QCOMPARE(points[0].step, std::int64_t(4));
        QCOMPARE(points[0].samples, std::int64_t(320));
        QVERIFY(std::abs(points[0].loss - (2.0 / 5 + 0.05)) < 1e-12);
        QCOMPARE(points[7].epoch, 2.0);
        QCOMPARE(store.losses().ofRank(1)->points().size(), std::size_t(8));
    }

    void phasesAreExactOnceAnEpochIsOverAndWindowsBefore() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(ddpRecord("r"));
        const std::vector<Frame> all = ddpRecording();
        std::size_t i = 0;
        for (; !std::holds_alternative<EpochFrame>(all[i].body); ++i)
            store.take(all[i]);
        QVERIFY(std::abs(store.phases().of(1).at("forward").sumS - 4 * 0.06) < 1e-12);
        QCOMPARE(store.phases().steps(1), std::int64_t(20));
        QVERIFY(std::abs(store.epochs().merged()[0].runningS - 4 * 0.11) < 1e-12);
        QVERIFY(!store.epochs().merged()[0].complete);
        for (; i < all.size(); ++i)
            store.take(all[i]);
        QVERIFY(std::abs(store.phases().of(1).at("forward").sumS - 2 * 0.24) < 1e-12);
        QCOMPARE(store.phases().steps(1), std::int64_t(40));
        QVERIFY(!store.phases().of(1).contains("h2d")); // unknown is absent, never 0
    }

    void stepsThatARestartMakesAgainCountOnce() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(ddpRecord("r"));
        std::vector<Frame> windows; // of the first epoch, nearly whole when its ranks are lost
        for (Frame one : ddpRecording())
            if (const auto *steps = std::get_if<StepsFrame>(&one.body); steps && steps->epoch == 1) {
                one.rseq.reset();
                windows.push_back(std::move(one));
            }
        for (const Frame &one : windows)
            store.take(one);
        store.take(frame(makeAlert(ranksRestarted, "all ranks are started again, 1 of 2 times"), std::nullopt, 5000));
        for (const Frame &one : windows)
            store.take(one);
        QVERIFY(std::abs(store.phases().of(1).at("forward").sumS - 4 * 0.06) < 1e-12);
        QCOMPARE(store.phases().steps(1), std::int64_t(20));
        QVERIFY(std::abs(store.epochs().merged()[0].runningS - 4 * 0.11) < 1e-12);
        QCOMPARE(store.losses().ofRank(1)->points().size(), std::size_t(4));
        QCOMPARE(outcomeOf(store).restarts, 1);
        // Now the epoch is reported, and lost again while it is evaluated: the next one begins after a second turn.
        std::vector<Frame> rest;
        for (Frame one : ddpRecording()) {
            one.rseq.reset();
            if (const auto *epoch = std::get_if<EpochFrame>(&one.body); epoch && epoch->epoch == 1)
                store.take(one);
            if (const auto *steps = std::get_if<StepsFrame>(&one.body); steps && steps->epoch == 2)
                rest.push_back(std::move(one));
        }
        for (const Frame &one : windows)
            store.take(one);
        for (const Frame &one : rest)
            store.take(one);
        QVERIFY(std::abs(store.phases().of(1).at("forward").sumS - (0.24 + 4 * 0.06)) < 1e-12);
        QCOMPARE(store.phases().steps(1), std::int64_t(40));
    }

    void anEpochThatARestartMakesAgainCountsAsTheLastAttemptMadeIt() {
        for (const bool steps : {true, false}) { // without them the agent's alert says that ranks were restarted
            RunStore store(QStringLiteral("r"));
            store.setRecord(ddpRecord("r"));
            const auto take = [&](double factor, int epochs) {
                for (Frame one : ddpRecording()) {
                    one.rseq.reset();
                    auto *epoch = std::get_if<EpochFrame>(&one.body);
                    const auto *window = std::get_if<StepsFrame>(&one.body);
                    if (epoch && epoch->epoch <= epochs) {
                        epoch->durationS *= factor;
                        epoch->phases.at("forward").sumS *= factor;
                        store.take(one);
                    } else if (window && window->epoch <= epochs && steps)
                        store.take(one);
                }
            };
            take(4, 2);
            QVERIFY(std::abs(store.epochs().trainingS() - 2 * 4 * 0.45) < 1e-12);
            if (!steps)
                store.take(frame(makeAlert(ranksRestarted, "started again, 1 of 2 times"), std::nullopt, 5000));
            take(1, 1);
            QCOMPARE(store.epochs().merged().size(), std::size_t(1)); // nothing is left of the attempt that was lost
            QCOMPARE(store.epochs().merged()[0].durationS, 0.45);
            QCOMPARE(store.epochs().merged()[0].samples, std::int64_t(1280));
            QVERIFY(store.epochs().merged()[0].complete && !store.epochs().repeated());
            QVERIFY(std::abs(store.phases().of(1).at("forward").sumS - 0.24) < 1e-9);
            QCOMPARE(store.phases().steps(1), std::int64_t(20));
            QCOMPARE(store.epochs().ofRanks().size(), std::size_t(6));
        }
    }

    void anEpochThatIsReportedAgainWithoutARestartLeavesTheTrainingTimeUnknown() {
        RunStore store(QStringLiteral("r"));
        RunRecord record = ddpRecord("r");
        record.processes = 1;
        store.setRecord(record);
        for (int fold = 0; fold < 3; ++fold)
            for (int epoch = 1; epoch <= 2; ++epoch) {
                StepsFrame window; // its steps are counted on
                window.epoch = epoch;
                window.firstStep = 10 * fold + 5 * epoch;
                window.lastStep = window.firstStep + 4;
                window.count = 5;
                store.take(frame(window, 0, 1000 * fold + 100 * epoch));
                EpochFrame done;
                done.epoch = epoch;
                done.durationS = 0.25;
                store.take(frame(done, 0, 1000 * fold + 100 * epoch + 50));
                RunResult result = doneResult("r", 1);
                store.setResult(result);
                const RunOutcome outcome = outcomeOf(store);
                QCOMPARE(outcome.totalTrainingTimeS.has_value(), fold == 0);
                QCOMPARE(outcome.warnings.size(), std::size_t(fold == 0 ? 0 : 1));
            }
        const std::string why = outcomeOf(store).warnings.front();
        QVERIFY2(why.starts_with("rank 0 reported epoch 1 more than once"), why.c_str());
        RunResult result = doneResult("r", 1);
        result.warnings = {why}; // its agent says so, too
        store.setResult(result);
        QCOMPARE(outcomeOf(store).warnings.size(), std::size_t(1));
    }

    void updatesOfAServerAreAddedUpByTheirStaleness() {
        RunStore store(QStringLiteral("r"));
        QVERIFY(store.updates().byStaleness().empty());
        const auto report = [&](int rank, std::vector<std::int64_t> counts) {
            CommFrame comm;
            comm.staleness = std::move(counts);
            Frame frame;
            frame.rank = rank;
            frame.body = comm;
            store.take(frame);
        };
        report(0, {});
        QVERIFY(store.updates().byStaleness().empty());
        report(0, {3, 1});
        report(1, {0, 2, 2});
        report(0, {1});
        QCOMPARE(store.updates().byStaleness(), (std::vector<std::int64_t>{4, 3, 2}));
        QCOMPARE(meanStaleness(store.updates().byStaleness()), 7.0 / 9);
        QCOMPARE(meanStaleness(store.updates().ofRanks().at(1)), 1.5);
        QCOMPARE(meanStaleness({}), 0.0);
    }

    void workOfAPipelinesStagesIsAMeanOverAllSteps() {
        RunStore store(QStringLiteral("r"));
        const auto report = [&](int rank, std::int64_t steps, std::vector<StageWork> work) {
            CommFrame comm;
            comm.stageSteps = steps;
            comm.stageWork = std::move(work);
            Frame frame;
            frame.rank = rank;
            frame.body = comm;
            store.take(frame);
        };
        report(0, 0, {{"forward", 0, 0, 1}});
        QVERIFY(store.stages().ofRanks().empty());
        report(0, 10, {{"forward", 0, 0, 1}, {"backward", 0, 1, 3}});
        report(0, 30, {{"forward", 0, 0, 3}, {"backward", 0, 3, 5}});
        report(1, 1, {{"forward", 0, 1, 2}});
        const std::vector<StageWork> &work = store.stages().ofRanks().at(0);
        QCOMPARE(work.size(), std::size_t(2));
        QCOMPARE(work[0].endS, 2.5);
        QCOMPARE(work[1].startS, 2.5);
        QCOMPARE(work[1].endS, 4.5);
        report(0, 1, {{"forward", 0, 0, 7}}); // resumed with other micro-batches
        QCOMPARE(store.stages().ofRanks().at(0).size(), std::size_t(1));
        QCOMPARE(store.stages().ofRanks().at(0)[0].endS, 7.0);
        QCOMPARE(store.stages().ofRanks().size(), std::size_t(2));
    }

    void timeLeftIsAtThePaceOfTheSlowestRank() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(ddpRecord("r"));
        QVERIFY(!progressOf(store).leftS);
        for (const Frame &one : ddpRecording()) {
            if (const auto *steps = std::get_if<StepsFrame>(&one.body); steps && steps->epoch == 2)
                break;
            store.take(one);
        }
        const Progress progress = progressOf(store);
        QCOMPARE(*progress.doneSteps, std::int64_t(20));
        QCOMPARE(*progress.fraction, 0.5);
        QVERIFY(std::abs(*progress.leftS - (20 * 0.11 / 5 + 0.1)) < 1e-9); // and one evaluation
    }

    void changesAreReportedTogetherNotOneByOne() {
        RunStore store(QStringLiteral("r"));
        QSignalSpy changed(&store, &RunStore::changed);
        for (const Frame &one : ddpRecording())
            store.take(one);
        QCOMPARE(changed.count(), 0);
        QTRY_COMPARE(changed.count(), 1);
        QVERIFY(changed[0][0].value<RunStore::Changes>() & RunStore::Loss);
    }

    void aReplayOfLargeLogsOfSeveralNodesGivesTheTurnBackBeforeItsEnd() {
        const Home home;
        const RunFolder folder = runFolder("20260102T030405Z-89abcdef");
        QVERIFY(realFileSystem().makeFolders(folder.path));
        constexpr int lines = 40'000; // of 150 bytes: six slices a log
        for (const int node : {0, 1}) {
            std::string log;
            for (int i = 0; i < lines; ++i) {
                Frame frame;
                frame.wallUs = 1'000'000 + i * 1000 + node;
                frame.body = LogFrame{"info", "a line of some length, as a rank may write it", "agent"};
                log += sealLine(encode(frame), node, std::uint64_t(i)) + "\n";
            }
            QVERIFY(realFileSystem().writeAtomically(folder.log(node), log));
        }
        NodesReplay replay;
        replay.open(folder);
        int taken = 0, turns = 0;
        bool more = true;
        while (more) {
            const int before = taken;
            more = replay.slice([&](std::string_view, int) { ++taken; });
            QVERIFY2(taken - before <= lines / 2, "a turn takes a few slices at most");
            ++turns;
        }
        QCOMPARE(taken, 2 * lines);
        QVERIFY(turns > 5);
    }

    void linesOfManyLogsAreHeldInBoundedMemory() {
        const Home home;
        const RunFolder folder = runFolder("20260102T030405Z-89abcdef");
        QVERIFY(realFileSystem().makeFolders(folder.path));
        constexpr int logs = 200, lines = 1 << 18;
        for (int node = 0; node < logs; ++node)
            QVERIFY(realFileSystem().writeAtomically(folder.log(node), std::string(lines, '\n')));
        const auto pages = [] {
            std::size_t all = 0, resident = 0;
            std::ifstream("/proc/self/statm") >> all >> resident;
            return resident;
        };
        const std::size_t before = pages();
        NodesReplay replay;
        replay.open(folder);
        std::int64_t taken = 0;
        std::size_t most = 0;
        for (bool more = true; more && taken < 2'000'000;) {
            more = replay.slice([&](std::string_view, int) { ++taken; });
            most = std::max(most, pages());
        }
        QVERIFY(taken >= 2'000'000);
        const std::size_t grown = (most - std::min(most, before)) * std::size_t(::sysconf(_SC_PAGESIZE));
        QVERIFY2(grown < 300'000'000, qPrintable(QString::number(grown)));
    }

    void aLogThatNamesEverMoreDevicesIsCutShort() {
        RunStore store(QStringLiteral("r"));
        for (int i = 0; i < 10'000; ++i) {
            Frame frame;
            frame.node = 0;
            frame.wallUs = frame.monoNs = i + 1;
            DeviceFrame body;
            body.devices.emplace_back();
            body.devices.back().device = "cpu:" + std::to_string(i);
            frame.body = body;
            store.take(frame);
            EpochFrame epoch;
            epoch.epoch = 1;
            epoch.durationS = 1;
            epoch.devices.emplace_back();
            epoch.devices.back().device = "cpu:" + std::to_string(i);
            frame.rank = i;
            frame.body = epoch;
            store.take(frame);
        }
        QCOMPARE(store.devices().names().size(), mostRunDevices);
        QCOMPARE(store.epochs().merged().front().devices.size(), mostRunDevices);
        QCOMPARE(store.epochs().ofRanks().size(), std::size_t(10'000));
        Frame again;
        again.rank = 3;
        again.wallUs = again.monoNs = 20'000;
        EpochFrame epoch;
        epoch.epoch = 1;
        epoch.durationS = 1;
        again.body = epoch;
        store.take(again); // it has reported that epoch
        QCOMPARE(store.epochs().ofRanks().size(), std::size_t(10'000));
    }

    void theViewersOfOneSampleThatCameInPartsAreSummed() {
        RunStore store(QStringLiteral("r"));
        Frame part;
        part.wallUs = part.monoNs = 1'000;
        part.body = DeviceFrame{0.2, {}, {}, {}, {ProcessSample{{}, 7, 0.25, {}}}};
        store.take(part);
        store.take(part);
        QCOMPARE(store.devices().viewersShare().value_or(0), 0.5);
    }

    void aRankOfWhichNothingIsHeardHoldsBackABoundedPartOfTheCurve() {
        LossMerger merger;
        RunMetrics metrics;
        merger.setRanks(2);
        metrics.setRanks(2);
        LossSeries curve;
        const auto take = [&](int rank, int step) {
            LossPoint point;
            point.step = step;
            point.samples = 1;
            merger.add(rank, step, point, curve);
            StepsFrame frame;
            frame.firstStep = frame.lastStep = step;
            frame.count = 1;
            add(frame.scalars, "grad_norm", step);
            metrics.take(rank, frame, point);
        };
        constexpr int steps = 5000;
        for (int step = 0; step < steps; ++step)
            take(0, step);
        const auto held = std::size_t(steps) - LossMerger::mostWaiting;
        QCOMPARE(curve.points().size(), held);
        QCOMPARE(metrics.series("grad_norm")->points().size(), held);
        take(1, 7); // too late
        QCOMPARE(curve.points().size(), held);
        merger.flush(curve);
        metrics.flush();
        for (const LossSeries *all : {static_cast<const LossSeries *>(&curve), metrics.series("grad_norm")}) {
            QCOMPARE(all->points().size(), std::size_t(steps));
            QCOMPARE(all->points().back().step, std::int64_t(steps - 1));
            QCOMPARE(all->generation(), 0);
        }
        QCOMPARE(metrics.series("grad_norm")->points()[100].loss, 100.0);
    }

    void aLongCurveIsHalvedAndKeepsItsExtremes() {
        LossSeries series(100);
        for (int i = 0; i < 1000; ++i) {
            LossPoint point;
            point.step = i;
            point.loss = point.min = point.max = i == 500 ? 99 : 1;
            point.samples = 1;
            series.append(point);
        }
        QVERIFY(series.points().size() <= 101);
        QVERIFY(series.generation() > 0);
        double highest = 0;
        std::int64_t samples = 0;
        for (const LossPoint &point : series.points()) {
            highest = std::max(highest, point.max);
            samples += point.samples;
        }
        QCOMPARE(highest, 99.0);
        QCOMPARE(samples, std::int64_t(1000));
    }

    void replayOfALogIsTheSameAsHavingBeenThere() {
        const Home home;
        const std::string run = finishedRun(1);
        RunStore live(QString::fromStdString(run)), replayed(QString::fromStdString(run)),
            loaded(QString::fromStdString(run));
        live.setRecord(ddpRecord(run));
        HeaderFrame header;
        header.run = run;
        live.take(frame(header, std::nullopt, 0));
        for (const Frame &one : ddpRecording())
            live.take(one);
        live.setResult(doneResult(run, 0));
        follow(replayed, run);
        QVERIFY(loadRun(loaded, runFolder(run)).has_value());
        QCOMPARE(whole(replayed), whole(live));
        QCOMPARE(whole(loaded), whole(live));
        QVERIFY(replayed.lifecycle().link() == LinkState::Finished);
        QVERIFY(replayed.log().gaps.empty());
    }

    void aDamagedLineCostsThatLineAloneAndTheGapIsShown() {
        const Home home;
        const std::string run = finishedRun(2);
        const std::string path = runFolder(run).log(0);
        std::string text = *realFileSystem().readAll(path);
        const std::size_t line = text.find("\"seq\":7,");
        QVERIFY(line != std::string::npos);
        text[line - 30] ^= 1;
        write(path, text);
        RunStore whole(QString::fromStdString(run)), store(QString::fromStdString(run));
        follow(store, run);
        QCOMPARE(store.log().gaps.count(), std::size_t(1));
        QCOMPARE(store.log().gaps.listed()[0].firstSeq, std::uint64_t(7));
        QCOMPARE(store.log().gaps.listed()[0].count(), std::uint64_t(1));
        QCOMPARE(store.log().frames, ddpRecording().size()); // header and all but one
        QVERIFY(store.state() == std::optional(RunState::Done));
    }

    void aHoleOfATebibyteBehindALogIsNotReadThrough() {
        const Home home;
        const std::string run = finishedRun(4);
        const std::string path = runFolder(run).log(0);
        std::error_code error;
        std::filesystem::resize_file(path, std::uintmax_t(1) << 40, error);
        if (error)
            QSKIP("this file system has no file of a tebibyte");
        RunStore store(QString::fromStdString(run));
        follow(store, run);
        QCOMPARE(store.log().frames, ddpRecording().size() + 1);
        QVERIFY(store.state() == std::optional(RunState::Done));
    }

    void aLogThatLostItsEndSaysHowMuch() {
        const Home home;
        const std::string run = finishedRun(3);
        const std::string path = runFolder(run).log(0);
        const std::string text = *realFileSystem().readAll(path);
        write(path, text.substr(0, text.size() - 40));
        RunStore store(QString::fromStdString(run));
        follow(store, run);
        QCOMPARE(store.log().gaps.count(), std::size_t(1));
        QCOMPARE(store.log().gaps.listed()[0].count(), std::uint64_t(1));
    }

    void aLogThatLostItsEndIsReadAsOneThatLacksEpochs() {
        const Home home;
        RunRecord script = ddpRecord("");
        script.config.reset(); // its log alone says how many epochs there are
        const std::string run = finishedRun(5, &script);
        const std::string path = runFolder(run).log(0);
        const std::vector<std::string> lines = sealed(run, ddpRecording());
        std::string text;
        std::size_t kept = 0;
        for (; lines[kept].find("\"first_step\":20") == std::string::npos; ++kept)
            text += lines[kept] + "\n";
        write(path, text);
        RunStore loaded(QString::fromStdString(run)), followed(QString::fromStdString(run));
        QVERIFY(loadRun(loaded, runFolder(run)).has_value());
        follow(followed, run);
        QVERIFY(loaded.log().gaps == (LogGaps{{kept, lines.size() - 1}}));
        QVERIFY(loaded.log().gaps == followed.log().gaps);
        QVERIFY(!outcomeOf(loaded).totalTrainingTimeS);
    }

    void aRunWithoutResultWhoseAgentIsGoneHasFailed() {
        const Home home;
        const std::string run = finishedRun(4);
        std::remove(runFolder(run).result().c_str());
        std::string text = *realFileSystem().readAll(runFolder(run).log(0));
        text.resize(text.rfind('\n', text.size() - 2) + 1); // died before it could log the end
        write(runFolder(run).log(0), text);
        RunStore store(QString::fromStdString(run));
        follow(store, run);
        QVERIFY(store.lifecycle().link() == LinkState::AgentDied);
        QCOMPARE(store.lifecycle().sentence(), QStringLiteral("failed: agent died"));
        QVERIFY(outcomeOf(store).agentDied);
        QVERIFY(!outcomeOf(store).totalTrainingTimeS);
    }

    void ranksThatClaimToHaveTrainedForLongerThanTheRunLastedHaveNoTrainingTime() {
        const Home home;
        for (const double runTimeS : {2.5, 0.02}) {
            const std::string run = finishedRun(1, nullptr, runTimeS);
            write(runFolder(run).log(0), sealed(run, {}).front() + "\n"); // what the summary says is all there is
            RunResult result = doneResult(run, 1, runTimeS);
            result.summary.emplace();
            result.summary->totalTrainingTimeS = 2.0;
            result.summary->perClassAccuracy = {7, -3};
            write(runFolder(run).result(), toJson(result));
            RunStore store(QString::fromStdString(run));
            QVERIFY(loadRun(store, runFolder(run)).has_value());
            const RunOutcome outcome = outcomeOf(store);
            QCOMPARE(outcome.totalTrainingTimeS.has_value(), runTimeS > 1);
            QCOMPARE(outcome.warnings.size(), std::size_t(runTimeS > 1 ? 0 : 1));
            for (const double share : outcome.perClassAccuracy)
                QVERIFY(share >= 0 && share <= 1);
            auto index = RunIndex::open();
            QVERIFY(index->refresh().has_value());
            QCOMPARE(index->runs().front().totalTrainingTimeS.has_value(), runTimeS > 1);
        }
    }

    void aScriptThatWasStartedElsewhereIsNotCalledLockstepTrainer() {
        RunRecord record;
        record.config = RunConfig();
        record.claims.known = {"method", "model"};
        RunStore script, trainer;
        script.setRecord(record);
        QVERIFY(outcomeOf(script).script);
        QCOMPARE(outcomeOf(script).conditions.program, std::string());
        QCOMPARE(outcomeOf(script).backend, std::string());
        record.claims.known.reset();
        trainer.setRecord(record);
        QCOMPARE(outcomeOf(trainer).conditions.program, std::string("lockstep-trainer"));
    }
};

QTEST_GUILESS_MAIN(CoreStoreTest)
#include "store_test.moc"
