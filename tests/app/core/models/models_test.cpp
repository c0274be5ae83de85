// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include <QAbstractItemModelTester>
#include <QDir>
#include <QSignalSpy>

#include "base/format.h"
#include "core_support.h"
#include "ipc/alerts.h"
#include "ipc/unix_socket.h"
#include "models/alert_model.h"
#include "models/console_model.h"
#include "models/device_metric.h"
#include "models/experiment_model.h"
#include "models/live_figures.h"
#include "models/plan_model.h"
#include "models/result_model.h"
#include "models/roles.h"
#include "models/row_plan.h"
#include "models/run_choice_model.h"
#include "models/run_curves.h"
#include "models/run_list_model.h"
#include "queue/experiment_follower.h"
#include "queue/queue_run.h"
#include "store/run_progress.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

constexpr auto strict = QAbstractItemModelTester::FailureReportingMode::QtTest;

void feed(RunStore &store) {
    for (const Frame &one : ddpRecording()) {
        store.take(one);
        store.flush(); // as if each came alone
    }
}

QString shown(const QAbstractItemModel &model, int row, int column) {
    return model.index(row, column).data().toString();
}

} // namespace

class CoreModelsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyRunModelKeepsItsWordWhileARunComesInAndRunsComeAndGo() {
        RunSet set;
        RunCurves curves(&set);
        ConsoleModel console(&set);
        AlertModel alerts(&set);
        RunChoiceModel choice(&set);
        QAbstractItemModelTester testers[] = {{&console, strict}, {&alerts, strict}, {&choice, strict}};
        Q_UNUSED(testers);
        RunStore first(QStringLiteral("20260101T000000Z-00000001"));
        first.setRecord(ddpRecord("r"));
        set.add(&first);
        feed(first);
        {
            RunStore second(QStringLiteral("20260101T000000Z-00000002"));
            second.setRecord(ddpRecord("r"));
            set.add(&second);
            feed(second);
            QCOMPARE(choice.rowCount(), 2);
            QCOMPARE(curves.curve(1, RunCurves::XAxis::Step)->size(), 8);
            QCOMPARE(set.label(1), QStringLiteral("DDP on 2 devices #2"));
        } // leaves by itself
        QCOMPARE(choice.rowCount(), 1);

        QCOMPARE(curves.curve(0, RunCurves::XAxis::Step)->size(), 8);
        QCOMPARE(curves.epochPoints(0, RunCurves::XAxis::Epoch), (QList<QPointF>{{1, 1.0}, {2, 0.5}}));
        QCOMPARE(curves.epochPoints(0, RunCurves::XAxis::Step), (QList<QPointF>{{19, 1.0}, {39, 0.5}}));
        QCOMPARE(choice.index(0, RunChoiceModel::Name).data(MethodRole).toString(), QStringLiteral("ddp"));
        QCOMPARE(console.rowCount(), 1);
        QCOMPARE(shown(console, 0, ConsoleModel::Source), QStringLiteral("rank 1"));
        QCOMPARE(alerts.rowCount(), 1);
        first.setGaps({{7, 9}}, 3);
        first.flush();
        QCOMPARE(alerts.rowCount(), 2);
        QVERIFY(shown(alerts, 1, AlertModel::Message).contains(QStringLiteral("3 frames lost, seq 7-9")));
        QCOMPARE(shown(alerts, 1, AlertModel::WhatToDo), qs(adviceFor("gap")));
        LogGaps many;
        for (std::uint64_t i = 0; i < LogGaps::mostListed + 5; ++i)
            many.add(LogGap{2 * i, 2 * i});
        first.setGaps(many, 0);
        first.flush();
        QCOMPARE(alerts.rowCount(), int(1 + LogGaps::mostListed + 1)); // those beyond the listed ones have one row
        QVERIFY(shown(alerts, alerts.rowCount() - 1, AlertModel::Message).contains(u"and 5 more gaps: 5 frames lost"));
        set.clear();
        QCOMPARE(choice.rowCount(), 0);
    }

    void aRunThatDivergedIsListedWithTheLossThatItHasNow() {
        RunSet set;
        const RunChoiceModel choice(&set);
        RunStore store(QStringLiteral("20260101T000000Z-00000001"));
        store.setRecord(ddpRecord("r"));
        set.add(&store);
        const auto loss = [&] { return choice.index(0, RunChoiceModel::Loss).data().toString(); };
        for (Frame one : ddpRecording()) {
            if (auto *epoch = std::get_if<EpochFrame>(&one.body); epoch && epoch->epoch == 2) {
                QCOMPARE(loss(), QStringLiteral("1.00"));
                epoch->loss = std::nan("");
                store.take(one);
                break;
            }
            store.take(one);
        }
        QCOMPARE(loss(), QStringLiteral("NaN"));
    }

    void whatLiveDrawsOfARunIsReadFromItsStore() {
        RunStore store(QStringLiteral("r"));
        QVERIFY(!medianEpochS(store) && lossAtEnd(store).isEmpty());
        QVERIFY(rankSteps(store).empty());
        store.setRecord(ddpRecord("r"));
        feed(store);
        QCOMPARE(store.epochs().merged().size(), std::size_t(2));
        QCOMPARE(store.epochs().merged()[1].durationS, 0.45);
        QCOMPARE(*medianEpochS(store), 0.45);
        QCOMPARE(lossAtEnd(store), QStringLiteral("0.500")); // its last epoch's, not its last steps'
        const std::vector<RankStep> steps = rankSteps(store);
        QCOMPARE(steps.size(), std::size_t(2));
        QCOMPARE(steps[1].rank, 1);
        // Forward and backward, a step; what was never measured (h2d, say) is absent.
        QCOMPARE(steps[1].additive, (std::vector<StepPhase>{{"forward", 0.48 / 40}, {"backward", 0.4 / 40}}));
        QVERIFY(steps[1].nested.empty());
        QCOMPARE(store.devices().names().size(), std::size_t(2));
        const std::deque<LaneSample> *lane = store.devices().lane(store.devices().names()[1]);
        QCOMPARE(lane->size(), std::size_t(2));
        const auto text = [&](DeviceMetric metric) {
            return metricText(metricValue(lane->back().sample, metric), metric);
        };
        QCOMPARE(text(DeviceMetric::Utilisation), QStringLiteral("90 %"));
        QCOMPARE(text(DeviceMetric::Power), QStringLiteral("-"));
        QCOMPARE(store.epochs().merged()[1].devices[0].device, "cpu:1"); // the slower one reports first
        QCOMPARE(*store.epochs().merged()[1].devices[0].utilizationMean, 0.75);
    }

    void theConsoleDropsTheOldestAndStaysBounded() {
        RunSet set;
        ConsoleModel console(&set);
        const QAbstractItemModelTester tester(&console, strict);
        RunStore store(QStringLiteral("r"));
        set.add(&store);
        for (int i = 0; i < 45'000; ++i) {
            store.take(frame(LogFrame{"info", std::to_string(i), "console"}, 0, i));
            if (i % 5'000 == 0)
                store.flush();
        }
        store.flush();
        QVERIFY(console.rowCount() <= 22'000);
        QCOMPARE(shown(console, console.rowCount() - 1, ConsoleModel::Message), QStringLiteral("44999"));
    }

    void theConsoleIsInTheOrderOfTimeWhicheverRunIsReadFirst() {
        RunSet set;
        ConsoleModel console(&set);
        const QAbstractItemModelTester tester(&console, strict);
        RunStore first(QStringLiteral("20260101T000000Z-00000001")),
            second(QStringLiteral("20260101T000000Z-00000002"));
        for (RunStore *store : {&first, &second}) {
            store->setRecord(ddpRecord("r"));
            set.add(store);
        }
        const auto write = [](RunStore &store, int from, int lines, int every) {
            for (int i = 0; i < lines; ++i) {
                Frame line = frame(LogFrame{"info", "x", "console"}, 0, i);
                line.wallUs = 1'000'000 + from + i * every;
                store.take(line);
            }
            store.flush();
        };
        const auto isOrdered = [&] {
            for (int row = 1; row < console.rowCount(); ++row)
                if (console.wallUsAt(row - 1) > console.wallUsAt(row))
                    return false;
            return true;
        };
        write(second, 1'000, 3, 1); // the later run is read before the earlier one
        write(first, 0, 3, 1);
        QCOMPARE(console.rowCount(), 6);
        QVERIFY(isOrdered());
        QCOMPARE(console.runAt(0), first.runId());
        QCOMPARE(console.runAt(5), second.runId());
        QCOMPARE(shown(console, 0, ConsoleModel::Run), QStringLiteral("DDP (2) #1"));
        QCOMPARE(console.index(0, ConsoleModel::Run).data(ValueRole).toString(), QStringLiteral("DDP on 2 devices #1"));
        write(second, 10'000, 200, 10); // side by side
        write(first, 10'005, 200, 10);
        QCOMPARE(console.rowCount(), 406);
        QVERIFY(isOrdered());
    }

    void thePlanShowsWhatWillRunThenHowItStands() {
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        const Recipe recipe = *loadRecipe("lenet-dp-vs-ddp");
        const Plan plan = *expand(recipe, facts);
        PlanModel model;
        const QAbstractItemModelTester tester(&model, strict);
        model.setPlan(plan);
        QCOMPARE(model.rowCount(), 5);
        QCOMPARE(shown(model, 0, PlanModel::State), QStringLiteral("will run"));
        QCOMPARE(shown(model, 3, PlanModel::State), QStringLiteral("not run: needs 8, has 2"));
        QCOMPARE(model.devicesAt(1), (QStringList{QStringLiteral("cpu:0"), QStringLiteral("cpu:1")}));
        QVERIFY(!model.index(0, PlanModel::Estimate).data(ValueRole).isValid());
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        Experiment experiment = makeExperiment(plan, recipe, false, {});
        experiment.entries[1].state = EntryState::Running;
        model.setExperiment(experiment);
        QCOMPARE(reset.count(), 0); // the same rows: a selection stays
        QCOMPARE(shown(model, 1, PlanModel::State), QStringLiteral("running"));
        QCOMPARE(shown(model, 0, PlanModel::State), QStringLiteral("queued"));
    }

    void theResultTableIsTextForPeopleAndNumbersForSorting() {
        const Recipe recipe = *loadRecipe("lenet-dp-vs-ddp");
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        const Experiment experiment = makeExperiment(*expand(recipe, facts), recipe, false, {});
        ResultModel model;
        ClassAccuracyModel classes;
        const QAbstractItemModelTester tester(&model, strict), classTester(&classes, strict);
        model.setTable(resultTable(experiment, {}));
        classes.setTable(model.table());
        QCOMPARE(model.rowCount(), 8); // five of ours, three published
        QCOMPARE(shown(model, 7, ResultModel::SpeedUpTraining), QStringLiteral("2.80"));
        QVERIFY(model.index(7, 0).data(PublishedRole).toBool());
        QVERIFY(!model.index(0, ResultModel::TotalTraining).data(ValueRole).isValid());
        QCOMPARE(shown(model, 0, ResultModel::TotalTraining), QStringLiteral("-"));
        QVERIFY(!model.index(0, ResultModel::TotalTraining).data(Qt::ToolTipRole).toString().isEmpty());
        const auto meaning = [&](int column) {
            return model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString();
        };
        for (int column = 0; column < ResultModel::ColumnCount; ++column)
            QVERIFY2(!meaning(column).isEmpty(), qPrintable(QString::number(column)));
        // The page names columns by their place; the columns themselves are resultColumns().
        const std::pair<int, const char *> heads[] = {{ResultModel::Name, "Run"},
                                                      {ResultModel::Repeats, "Repeats"},
                                                      {ResultModel::FirstEpoch, "First epoch (s)"},
                                                      {ResultModel::TotalTraining, "Training time (s)"},
                                                      {ResultModel::PublishedTime, "Published time (s)"},
                                                      {ResultModel::SpeedUpTraining, "Speed-up, training (×)"},
                                                      {ResultModel::PrintedSpeedUp, "Printed speed-up (×)"},
                                                      {ResultModel::Efficiency, "Efficiency (%)"},
                                                      {ResultModel::AccuracyDifference, "Accuracy difference (points)"},
                                                      {ResultModel::LossDifference, "Loss difference"},
                                                      {ResultModel::Nodes, "Nodes"},
                                                      {ResultModel::Notes, "Notes"}};
        for (const auto &[column, head] : heads)
            QCOMPARE(model.headerData(column, Qt::Horizontal).toString(), QString::fromUtf8(head));
        QCOMPARE(model.columnCount(), int(ResultModel::ColumnCount));
        QCOMPARE(shown(model, 7, ResultModel::Efficiency), QStringLiteral("34.9"));
        QCOMPARE(shown(model, 0, ResultModel::Repeats), QStringLiteral("0 of 1"));
        QCOMPARE(shown(model, 0, ResultModel::Notes), QString()); // nothing to say is nothing unknown
        QVERIFY(meaning(ResultModel::SpeedUpTraining).contains("Reference's training time ÷ this run's"));
        QVERIFY(meaning(ResultModel::Efficiency).contains("÷ how many times as many devices"));
        QCOMPARE(classes.rowCount(), 2);
        QCOMPARE(classes.columnCount(), 11);
        QCOMPARE(shown(classes, 0, 1), QStringLiteral("100.00"));
    }

    void ofVeryManyClassesTheFirstAreShown() {
        ResultTable table;
        table.rows.emplace_back().perClassAccuracy.assign(300'000, 0.5);
        table.rows.emplace_back().perClassAccuracy = {1.0};
        ClassAccuracyModel classes;
        const QAbstractItemModelTester tester(&classes, strict);
        classes.setTable(table);
        QCOMPARE(classes.columnCount(), 1 + int(ClassAccuracyModel::mostClasses));
        QCOMPARE(shown(classes, 0, classes.columnCount() - 1), QStringLiteral("50.00"));
        QCOMPARE(shown(classes, 1, 1), QStringLiteral("100.00"));
    }

    void theHistoryKeepsItsRowsWhenARunIsAddedOrDeleted() {
        const Home home;
        const std::string first = finishedRun(1);
        RunListModel model(std::make_unique<RunIndex>(*RunIndex::open()));
        const QAbstractItemModelTester tester(&model, strict);
        QVERIFY(model.refresh().has_value());
        QCOMPARE(model.rowCount(), 1);
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        const std::string second = finishedRun(2);
        QVERIFY(model.refresh().has_value());
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.index(0, 0).data(RunIdRole).toString().toStdString(), second);
        QVERIFY(QDir(QString::fromStdString(runFolder(first).path)).removeRecursively());
        QVERIFY(model.refresh().has_value());
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(reset.count(), 0);
    }

    void anExperimentIsFollowedWithAllItsRunsAndSaysWhenNobodyOwnsIt() {
        const Home home;
        const Recipe recipe = *loadRecipe("lenet-dp-vs-ddp");
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        Experiment experiment = makeExperiment(*expand(recipe, facts), recipe, true, {});
        experiment.entries[0].state = EntryState::Done;
        experiment.entries[0].run = finishedRun(5);
        QVERIFY(writeExperiment(experiment).has_value());
        ExperimentFollower follower;
        ExperimentModel model;
        const QAbstractItemModelTester tester(&model, strict);
        QSignalSpy ended(&follower, &ExperimentFollower::runEnded);
        QVERIFY(follower.open(experiment.id).has_value());
        model.setFollower(&follower);
        QCOMPARE(model.rowCount(), 5);
        QVERIFY(ended.wait(test::hangLimitMs));
        QCOMPARE(follower.stores().size(), std::size_t(1));
        QVERIFY(follower.orphaned());
        QVERIFY(model.strip().orphaned);
        QVERIFY(std::abs(*follower.progress() - 1.0 / 3) < 1e-9);
        {
            const auto owner = FileLock::acquire(experimentFolder(experiment.id).lock());
            QVERIFY(owner.has_value());
            QTRY_VERIFY(follower.owned());
            QVERIFY(model.strip().active); // and between two runs it says which one comes
            QCOMPARE(model.strip().run, QStringLiteral("run 2 of 3"));
            QCOMPARE(model.strip().name, QStringLiteral("DP on 2 devices"));
        }
        QSignalSpy changed(&follower, &ExperimentFollower::experimentChanged);
        experiment.entries[1].state = EntryState::Stopped;
        QVERIFY(writeExperiment(experiment).has_value());
        QVERIFY(changed.wait(test::hangLimitMs));
        QCOMPARE(model.index(1).data(StateRole).toString(), QStringLiteral("stopped"));
    }

    void anEmptyRunFolderIsFollowedAsLittleAsARemovedOne() {
        const Home home;
        const Recipe recipe = *loadRecipe("lenet-dp-vs-ddp");
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        Experiment experiment = makeExperiment(*expand(recipe, facts), recipe, true, {});
        for (std::uint32_t i : {0, 1}) {
            experiment.entries[i].state = EntryState::Done;
            experiment.entries[i].run = finishedRun(6 + i);
        }
        const QString empty = QString::fromStdString(runFolder(experiment.entries[1].run).path);
        QVERIFY(QDir(empty).removeRecursively() && QDir().mkpath(empty));
        QVERIFY(writeExperiment(experiment).has_value());
        ExperimentFollower follower;
        QVERIFY(follower.open(experiment.id).has_value());
        QVERIFY(follower.store(0) && !follower.store(1));
    }

    void ofManyEndedRunsAFewHundredAreReadAtOnce() {
        const Home home;
        const Recipe recipe = *loadRecipe("lenet-dp-vs-ddp");
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        Experiment experiment = makeExperiment(*expand(recipe, facts), recipe, true, {});
        experiment.entries.resize(1);
        experiment.entries[0].state = EntryState::Done;
        experiment.entries.resize(203, experiment.entries[0]);
        for (std::uint32_t i = 0; i < 203; ++i)
            experiment.entries[i].run = finishedRun(i);
        QVERIFY(writeExperiment(experiment).has_value());
        ExperimentFollower follower;
        QVERIFY(follower.open(experiment.id).has_value());
        const auto stores = follower.stores();
        const auto has = [&](LinkState link) {
            return std::ranges::count_if(stores, [=](auto *store) { return store->lifecycle().link() == link; });
        };
        QCOMPARE(stores.size(), std::size_t(203));
        QVERIFY(has(LinkState::Idle) >= 3);
        QTRY_COMPARE_WITH_TIMEOUT(has(LinkState::Finished), 203, test::hangLimitMs);
    }

    void rowsChangeInTheWayThatDisturbsAViewLeast_data() {
        QTest::addColumn<QStringList>("before");
        QTest::addColumn<QStringList>("after");
        QTest::addColumn<int>("kind");
        QTest::addColumn<QList<int>>("to");
        QStringList many;
        for (int i = 0; i < 65; ++i)
            many << QString::number(i);
        const QList<int> none;
        constexpr int singly = int(RowPlan::Kind::Singly), reorder = int(RowPlan::Kind::Reorder);
        QTest::newRow("the same") << QStringList{"a", "b"} << QStringList{"a", "b"} << singly << QList{0, 1};
        QTest::newRow("one comes, one goes")
            << QStringList{"a", "b"} << QStringList{"c", "b"} << singly << QList{-1, 1};
        QTest::newRow("the other way round")
            << QStringList{"a", "b"} << QStringList{"b", "a"} << reorder << QList{1, 0};
        QTest::newRow("turned round, and one comes")
            << QStringList{"a", "b"} << QStringList{"b", "c", "a"} << int(RowPlan::Kind::Reset) << QList{2, 0};
        QTest::newRow("too many come") << QStringList() << many << int(RowPlan::Kind::Reset) << none;
        QTest::newRow("just not too many") << QStringList{"0"} << many << singly << QList{0};
    }
    void rowsChangeInTheWayThatDisturbsAViewLeast() {
        QFETCH(QStringList, before);
        QFETCH(QStringList, after);
        QFETCH(int, kind);
        QFETCH(QList<int>, to);
        const auto keyOf = [](const QStringList &rows) {
            return [&rows](std::size_t row) { return rows[qsizetype(row)].toStdString(); };
        };
        const RowPlan plan =
            planRows(std::size_t(before.size()), keyOf(before), std::size_t(after.size()), keyOf(after));
        QCOMPARE(int(plan.kind), kind);
        QCOMPARE(QList<int>(plan.to.begin(), plan.to.end()), to);
    }

    void aRunWithoutAStepIsNotCalledTrainingAndAnEpochIsNamedEvenIfTheirNumberIsUnknown() {
        RunStore store(QStringLiteral("20260101T000000Z-00000001"));
        StateFrame training;
        training.state = RunState::Training;
        store.take(frame(training, std::nullopt, 0));
        Progress progress = progressOf(store);
        QCOMPARE(activityOf(store, progress), QStringLiteral("running, no step yet"));
        progress.doneSteps = 5;
        QCOMPARE(activityOf(store, progress), QStringLiteral("training"));
        QCOMPARE(epochText(progress), QString());
        progress.epoch = 7;
        QCOMPARE(epochText(progress), QStringLiteral("7"));
        progress.epochs = 10;
        QCOMPARE(epochText(progress), QStringLiteral("7/10"));
    }

    void aRunThatItsQueueFoundGoneIsSaidToHaveEndedAsTheQueueSays() {
        for (const QString &reason : {QStringLiteral("its Slurm job ended without a result"), QString()}) {
            RunStore store(QStringLiteral("20260101T000000Z-00000001"));
            store.setLink(LinkState::AgentDied, reason.isEmpty() ? reason : QStringLiteral("failed: ") + reason);
            RunSet set;
            set.add(&store);
            const AlertModel alerts(&set);
            const QString said = reason.isEmpty() ? QStringLiteral("agent died") : reason;
            QCOMPARE(shown(alerts, 0, AlertModel::Message), QStringLiteral("failed: ") + said);
            QCOMPARE(entryEndOf(store).reason, said);
        }
    }

    void aDeviationIsWrittenToTheLastPlaceOfItsMean() {
        QCOMPARE(besideMean(0.000000046, QStringLiteral("1.36")), QStringLiteral("0"));
        QCOMPARE(besideMean(0.0149, QStringLiteral("1.36")), QStringLiteral("0.01"));
        QCOMPARE(besideMean(1.41, QStringLiteral("11.0")), QStringLiteral("1.4"));
        QCOMPARE(besideMean(9299, QStringLiteral("16,000")), QStringLiteral("9300"));
        QCOMPARE(besideMean(12, QStringLiteral("12,345")), QStringLiteral("12"));
        QCOMPARE(besideMean(23'456, QStringLiteral("160,000")), QStringLiteral("23,000"));
        QCOMPARE(besideMean(2e-32, QStringLiteral("5.00e-31")), QStringLiteral("2.0e-32"));
        QCOMPARE(besideMean(0.1414, QStringLiteral("0")), QStringLiteral("0.14")); // of -0.1 and 0.1
    }

    void numbersReadTheSameEverywhere() {
        QCOMPARE(significant(1.74321), QStringLiteral("1.74"));
        QCOMPARE(significant(0.07123), QStringLiteral("0.0712"));
        QCOMPARE(significant(160.882), QStringLiteral("161"));
        QCOMPARE(significant(9.999), QStringLiteral("10.0"));
        QCOMPARE(significant(std::nullopt), QStringLiteral("-"));
        QCOMPARE(addedSeconds(0.0124, 2.58), QStringLiteral("+0.012 s"));
        QCOMPARE(addedSeconds(-1.234567, 12.3), QStringLiteral("\u22121.23 s"));
        QCOMPARE(addedSeconds(-0.000438, 2.58), QStringLiteral("0 s"));
        QCOMPARE(addedSeconds(45.678, 1234), QStringLiteral("+46 s"));
        QCOMPARE(addedSeconds(0.5, 0.02, 2.58), QStringLiteral("+0.500 ± 0.020 s"));
        QCOMPARE(addedSeconds(0.5, 0.0001, 2.58), QStringLiteral("+0.500 s")); // off by nothing that shows
        QCOMPARE(secondsBeside(0.06, 0.871), QStringLiteral("0.060 s"));       // as many decimals as the largest has
        QCOMPARE(secondsBeside(0.871, 0.871), QStringLiteral("0.871 s"));
        QCOMPARE(secondsBeside(1.2, 12.34), QStringLiteral("1.2 s"));
        QCOMPARE(secondsBeside(0.02, 12.34), QStringLiteral("0.0200 s")); // never a 0 that is none
        QCOMPARE(secondsBeside(3.4, 5432), QStringLiteral("3 s"));
        QCOMPARE(threeDigits(5432.1), QStringLiteral("5430"));
        QCOMPARE(threeDigits(-12345.0), QStringLiteral("-12,300"));
        QCOMPARE(threeDigits(999.6), QStringLiteral("1000"));
        QCOMPARE(threeDigits(1.5), QStringLiteral("1.50"));
        QCOMPARE(threeDigits(std::nullopt), QStringLiteral("-"));
        QCOMPARE(significant(5e-31), QStringLiteral("5.00e-31")); // not a row of zeros
        QCOMPARE(significant(-4.53e-8), QStringLiteral("-4.53e-8"));
        QCOMPARE(significant(3.389e35), QStringLiteral("3.39e35"));
        QCOMPARE(significant(2e9), QStringLiteral("2,000,000,000")); // a count
        QCOMPARE(significant(21'345.0), QStringLiteral("21,345"));
        QCOMPARE(significant(1731.4), QStringLiteral("1731")); // four digits read without
        QCOMPARE(secondsBeside(54'321, 54'321), QStringLiteral("54,321 s"));
        QCOMPARE(addedSeconds(-54'321, 98'765), QStringLiteral("\u221254,321 s"));
        QCOMPARE(inGroups(QStringLiteral("1234567.25")), QStringLiteral("1,234,567.25"));
        QCOMPARE(threeDigits(1e30), QStringLiteral("1.00e30"));
        QCOMPARE(timeLeft(185), QStringLiteral("3 min 05 s"));
        QCOMPARE(percent(0.9893), QStringLiteral("98.93 %"));
        QCOMPARE(bytes(200.0 * 1024 * 1024), QStringLiteral("200 MiB"));
        QCOMPARE(bytes(200.0 * 1024 * 1024, 20.0 * 1024 * 1024 * 1024), QStringLiteral("0.195 GiB")); // on one axis
    }
};

QTEST_GUILESS_MAIN(CoreModelsTest)
#include "models_test.moc"
