// SPDX-License-Identifier: MIT
// Thousands of ranks, devices, phases and nodes: what a frame costs must not grow with how many others there are, and what is kept is
// bounded.
#include <algorithm>
#include <map>
#include <unistd.h>

#include <QElapsedTimer>

#include "core_support.h"
#include "ipc/alerts.h"
#include "ipc/file_system.h"
#include "ipc/log.h"
#include "ipc/placement.h"
#include "store/nodes_replay.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

constexpr qint64 longMs = 4000; // with a look at each rank a frame it is far more

LossPoint pointAt(std::int64_t step) {
    LossPoint point;
    point.step = step;
    point.loss = double(step);
    point.samples = 1;
    return point;
}

StepsFrame windowAt(std::int64_t step, int metrics) {
    StepsFrame frame;
    frame.firstStep = frame.lastStep = step;
    frame.count = 1;
    for (int i = 0; i < metrics; ++i)
        add(frame.scalars, "m" + std::to_string(i), double(step));
    return frame;
}

/// Windows of one step each, with a loss and the metric m0.
void takeSteps(RunStore &store, int rank, int count) {
    for (int step = 0; step < count; ++step) {
        StepsFrame window = windowAt(step, 1);
        window.samples = 1;
        window.loss = LossWindow{1, 1, 1, 1};
        store.take(frame(window, rank, step));
    }
}

EpochFrame epochOf(std::int64_t steps) {
    EpochFrame done;
    done.steps = steps;
    done.durationS = 1;
    return done;
}

/// One sample of a device at that time.
void takeSample(RunDevices &devices, const std::string &device, std::int64_t wallUs) {
    DeviceSample one;
    one.device = device;
    one.kind = "cpu";
    one.utilization = double(wallUs);
    DeviceFrame body;
    body.devices.push_back(one);
    Frame frame;
    frame.wallUs = wallUs;
    devices.take(frame, body);
}

bool warns(const RunStore &store, const std::string &words) {
    return std::ranges::any_of(outcomeOf(store).warnings,
                               [&](const std::string &one) { return one.find(words) != one.npos; });
}

/// A run of two ranks, each on a node of its own with the rank's number.
struct TwoNodes {
    TwoNodes() { store.setRecord(ddpRecord("r")); }
    void tell(FrameBody body, int rank) {
        Frame one = frame(std::move(body), rank, ++ms);
        one.node = rank;
        store.take(one);
    }

    RunStore store{QStringLiteral("r")};
    std::int64_t ms = 0;
};

} // namespace

class CoreManyRanksTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aRankOfAFurtherNodeThatMakesStepsAgainAloneForgetsNothing() {
        RunStore store(QStringLiteral("r")), restarted(QStringLiteral("r"));
        const auto tell = [](RunStore &to, Frame one) {
            if (one.rank)
                one.node = *one.rank;
            to.take(one);
        };
        for (RunStore *each : {&store, &restarted}) {
            each->setRecord(ddpRecord("r"));
            for (const Frame &one : ddpRecording())
                tell(*each, one);
        }
        StepsFrame again;
        again.count = again.samples = 1;
        again.loss = LossWindow{9, 9, 9, 9};
        EpochFrame done;
        done.steps = 1;
        done.durationS = 9;
        const std::size_t points = store.losses().all().points().size();
        tell(store, frame(again, 1, 2400));
        tell(store, frame(done, 1, 2401));
        QCOMPARE(store.epochs().merged().size(), std::size_t(2));
        QCOMPARE(store.epochs().merged().front().ranksReported, 2);
        QVERIFY(store.epochs().merged().front().durationS < 9 && !store.epochs().repeated());
        QCOMPARE(store.losses().all().points().size(), points);
        QVERIFY2(warns(store, "2 reports of steps or epochs are left out"), "a window and an epoch");
        tell(store, frame(again, 0, 2402)); // the first node shows that all were restarted
        QCOMPARE(store.epochs().merged().size(), std::size_t(1));
        QCOMPARE(store.epochs().merged().front().ranksReported, 0);
        tell(store, frame(again, 1, 2403));
        tell(store, frame(done, 1, 2404));
        QCOMPARE(store.epochs().merged().front().ranksReported, 1);

        restarted.take(frame(makeAlert(ranksRestarted, "all ranks are started again"), std::nullopt, 2400));
        tell(restarted, frame(again, 1, 2401));
        QCOMPARE(restarted.epochs().merged().size(), std::size_t(1));
        QCOMPARE(restarted.epochs().merged().front().ranksReported, 0);
        QVERIFY(!warns(restarted, "left out"));
    }

    void figuresOfTheWholeRunAreTheFirstNodesWhicheverFrameComesFirst() {
        TwoNodes run;
        RunStore &store = run.store;
        const auto tell = [&run](FrameBody body, int rank) { run.tell(std::move(body), rank); };
        StateFrame length;
        length.state = RunState::Training;
        for (const int rank : {1, 0, 1}) {
            length.epochs = rank == 0 ? 2 : 99;
            length.totalSteps = rank == 0 ? 40 : 9900;
            const std::string word = rank == 0 ? "a" : "b";
            length.about = {{"total_steps", std::to_string(*length.totalSteps)}, {"precision", word}, {word, "x"}};
            length.files = {{"train.py", word}};
            length.backend = word;
            tell(length, rank);
        }
        QCOMPARE(store.length().epochs(), std::optional(2));
        QCOMPARE(store.length().steps(), std::optional<std::int64_t>(40));
        QVERIFY(store.identity().about().at("precision") == "a" && store.identity().about().contains("b"));
        QCOMPARE(store.identity().files(), (FileDigests{{"train.py", "a"}}));
        QCOMPARE(outcomeOf(store).backend, std::string("a"));

        EvalFrame eval;
        for (const int rank : {1, 0, 1}) {
            eval.accuracy = rank == 0 ? 0.5 : 0.99;
            tell(eval, rank);
        }
        eval.epoch = 2; // which the first node's ranks have not tested
        tell(eval, 1);
        for (const int rank : {1, 0}) {
            EpochFrame done;
            done.durationS = 1;
            done.loss = rank == 0 ? 2 : 0.001;
            tell(done, rank);
        }
        QCOMPARE(store.epochs().merged().size(), std::size_t(1));
        const RunOutcome outcome = outcomeOf(store);
        QCOMPARE(outcome.testAccuracy, std::optional(0.5));
        QCOMPARE(outcome.finalLoss, std::optional(2.0));
        QVERIFY(warns(store, "its ranks report different losses of epoch 1"));
    }

    void whatAFurtherNodeAloneReportsOfTheWholeRunCounts() {
        TwoNodes run;
        RunStore &store = run.store;
        const auto tell = [&run](FrameBody body, int rank) { run.tell(std::move(body), rank); };
        StepsFrame window = windowAt(0, 0);
        window.epoch = 2;
        window.samples = 10;
        window.loss = LossWindow{3, 3, 3, 3};
        for (int epoch = 1; epoch <= 2; ++epoch) {
            if (epoch == 2)
                tell(window, 0);
            for (const int rank : {0, 1}) { // as of a pipeline, whose last stage has the loss
                EpochFrame done;
                done.epoch = epoch;
                done.durationS = 1;
                if (rank == 1)
                    done.loss = 0.5;
                tell(done, rank);
            }
            EvalFrame eval;
            eval.epoch = epoch;
            eval.accuracy = 0.5;
            tell(eval, 1);
        }
        StateFrame length;
        length.epochs = 3;
        tell(length, 1);
        QCOMPARE(store.epochs().merged()[0].loss, std::optional(0.5));
        QCOMPARE(store.epochs().merged()[1].loss, std::optional(3.0)); // the first node's windows have one
        QVERIFY(store.epochs().merged()[1].eval);
        QCOMPARE(store.length().epochs(), std::optional(3));
    }

    void theLossOfAScriptThatCountsNoSamplesIsTheMeanOverItsRanks() {
        for (const bool script : {true, false})
            for (const std::int64_t samples : {0, 10}) {
                RunStore store(QStringLiteral("r"));
                RunRecord record = ddpRecord("r");
                if (script)
                    record.command = {"python3", "train.py"};
                store.setRecord(record);
                for (const int rank : {1, 0}) {
                    EpochFrame done;
                    done.durationS = 1;
                    done.samples = samples;
                    done.loss = rank == 0 ? 1.0 : 2.0;
                    store.take(frame(done, rank, 1 + rank));
                }
                QCOMPARE(store.epochs().merged().front().loss, std::optional(script && samples == 0 ? 1.5 : 1.0));
            }
    }

    void aRunIsRecognisedByTheFirstNodesFramesAlone() {
        RunStore one(QStringLiteral("r")), other(QStringLiteral("s"));
        int ms = 0;
        for (RunStore *store : {&one, &other}) {
            Frame early = frame(HeartbeatFrame{}, 1, 0);
            early.node = 1;
            store->take(early);
            QVERIFY(store->identity().begin().empty());
            Frame first = frame(HeartbeatFrame{}, 0, ++ms);
            first.node = 0;
            store->take(first);
        }
        QVERIFY(!one.identity().begin().empty() && one.identity().begin() != other.identity().begin());
    }

    void listsOfEpochsAreBoundAndTheNewestHaveTheirs() {
        constexpr int epochs = 30;
        RunEpochs all;
        const auto report = [&](int epoch) {
            EvalFrame eval;
            eval.epoch = epoch;
            eval.perClassAccuracy.resize(50'000);
            all.take(Frame(), eval);
            EpochFrame done;
            done.epoch = epoch;
            done.devices.resize(1);
            QVERIFY(all.take(0, Frame(), done, 1));
        };
        const auto listed = [&](int epoch) {
            const MergedEpoch &one = all.merged()[std::size_t(epoch - 1)];
            return one.devices.size() + one.eval->perClassAccuracy.size();
        };
        for (int epoch = 1; epoch <= epochs; ++epoch)
            report(epoch);
        QCOMPARE(listed(1), std::size_t(0));
        QCOMPARE(listed(epochs - 19), std::size_t(0));
        for (int epoch = epochs - 18; epoch <= epochs; ++epoch)
            QCOMPARE(listed(epoch), std::size_t(50'001));
        EvalFrame late;
        late.perClassAccuracy.resize(10);
        all.take(Frame(), late);
        QCOMPARE(listed(1), std::size_t(0));
        all.startOver();
        QCOMPARE(all.madeAgain(2).size(), std::size_t(epochs - 1));
        report(2); // there is room again
        QCOMPARE(listed(2), std::size_t(50'001));
        for (const RankEpoch &one : all.ofRanks())
            QVERIFY(one.frame.devices.empty());
    }

    void anEpochIsPlacedAnewAmongItsOwnPointsAlone() {
        LossSeries curve;
        const auto append = [&](std::int64_t step, double epoch) {
            LossPoint point = pointAt(step);
            point.epoch = epoch;
            curve.append(point);
        };
        constexpr int epochs = 9000, behind = 60'000;
        for (int epoch = 1; epoch <= epochs; ++epoch)
            for (const int half : {0, 1})
                append(2 * epoch + half, epoch); // their length is unknown
        for (int step = 0; step < behind; ++step)
            append(2 * epochs + 2 + step, epochs + 1);
        for (int epoch = 1; epoch <= epochs; ++epoch)
            curve.placeAnew({epoch, 2 * epoch + 1,
                             [&](std::int64_t step) { return epoch - 0.5 + 0.5 * double(step - 2 * epoch); }});
        for (int epoch = 1; epoch <= epochs; ++epoch) {
            QCOMPARE(curve.points()[std::size_t(2 * epoch - 2)].epoch, epoch - 0.5);
            QCOMPARE(curve.points()[std::size_t(2 * epoch - 1)].epoch, double(epoch));
        }
        QCOMPARE(curve.points().back().epoch, double(epochs + 1));
        // A further training has epochs of the same numbers, and one of its ranks has begun the next of them.
        append(100'000, 1.0);
        append(100'001, 1.5);
        append(100'002, 1.0);
        append(100'003, 1.5);
        curve.placeAnew({1, 100'002, [](std::int64_t) { return 0.75; }});
        const std::vector<LossPoint> &points = curve.points();
        QCOMPARE(points.front().epoch, 0.5);
        QCOMPARE(points[points.size() - 4].epoch, 0.75);
        QCOMPARE(points[points.size() - 3].epoch, 1.5);
        QCOMPARE(points[points.size() - 2].epoch, 0.75);
        QCOMPARE(points.back().epoch, 1.5);
    }

    void oneSlowRankAmongThousandsCostsNoLookAtTheOthers() {
        constexpr int ranks = 20'000, steps = 40'000;
        QElapsedTimer spent;
        spent.start();
        LossMerger merger;
        merger.setRanks(ranks + 1);
        LossSeries curve;
        for (int rank = 0; rank < ranks; ++rank)
            merger.add(rank, steps, pointAt(steps), curve);
        for (int step = 0; step <= steps; ++step)
            merger.add(ranks, step, pointAt(step), curve);
        QCOMPARE(curve.points().size(), std::size_t(steps) + 1);
        QCOMPARE(curve.points().back().samples, std::int64_t(ranks) + 1);
        QVERIFY2(spent.elapsed() < longMs, qPrintable(QString::number(spent.elapsed())));
    }

    void moreRanksThanTheRecordSaysCostNoLookAtTheOthers() {
        constexpr int ranks = 20'000;
        QElapsedTimer spent;
        spent.start();
        LossMerger merger;
        merger.setRanks(1);
        LossSeries curve;
        for (int i = 0; i < 2 * ranks; ++i)
            merger.add(i % ranks, i, pointAt(i), curve);
        merger.flush(curve);
        QCOMPARE(curve.points().back().step, std::int64_t(2 * ranks - 1));
        QVERIFY2(spent.elapsed() < longMs, qPrintable(QString::number(spent.elapsed())));
    }

    void manyMetricsOfManyRanksAreNotJoinedAnewAtEachFrame() {
        constexpr int ranks = 4000, metrics = 32;
        RunMetrics all;
        all.setRanks(1);
        for (int rank = 0; rank < ranks; ++rank)
            all.take(rank, windowAt(0, metrics), pointAt(0));
        QElapsedTimer spent;
        spent.start();
        for (int i = 0; i < 5 * ranks; ++i)
            all.take(i % ranks, windowAt(1 + i / ranks, 0), pointAt(1 + i / ranks));
        QVERIFY2(spent.elapsed() < longMs, qPrintable(QString::number(spent.elapsed())));
        QVERIFY(all.series("m0") && !all.series("m0")->points().empty());
    }

    void whatWaitsForAMissingRankIsJoinedByTheStepsThatTheOthersShare() {
        LossMerger merger;
        merger.setRanks(3);
        LossSeries curve;
        for (const int step : {2, 5, 8})
            merger.add(1, step - 2, pointAt(step), curve);
        merger.add(0, 0, pointAt(3), curve);
        merger.flush(curve);
        std::vector<std::int64_t> steps;
        for (const LossPoint &point : curve.points())
            steps.push_back(point.step);
        QCOMPARE(steps, (std::vector<std::int64_t>{3, 5, 8}));
        QCOMPARE(curve.points()[0].samples, std::int64_t(2)); // rank 0's first four steps with rank 1's first three
    }

    void aRankThatGoesBackAgainAndAgainCostsNoLookAtTheOthers() {
        constexpr int ranks = 200'000, turns = 100'000;
        StepNumbers numbers;
        RunEpochs epochs;
        RunLength length;
        int again = 0;
        const auto take = [&](int rank, std::int64_t step) {
            const StepsFrame window = windowAt(step, 0);
            again += numbers.take(rank, window, length).again ? 1 : 0;
            QVERIFY(epochs.take(rank, window).empty());
        };
        for (int rank = 0; rank < ranks; ++rank)
            take(rank, 1);
        QCOMPARE(again, 0);
        for (int turn = 0; turn < turns; ++turn) {
            take(0, 10);
            take(0, 5);
        }
        QCOMPARE(again, turns);
        take(1, 1); // it was started again as well, so this goes on
        QCOMPARE(again, turns);
    }

    void devicesThatManyRanksReportAreThereOnce() {
        constexpr int ranks = 100, given = 1000;
        EpochFrame body;
        body.durationS = 1;
        for (int i = 0; i < 2 * given; ++i) {
            body.devices.emplace_back();
            body.devices.back().device = "cpu:" + std::to_string(i % given);
        }
        RunEpochs epochs;
        for (int rank = 0; rank < ranks; ++rank)
            QVERIFY(epochs.take(rank, Frame(), body, ranks));
        const std::vector<DeviceUse> &kept = epochs.merged().front().devices;
        QCOMPARE(kept.size(), std::size_t(given));
        QCOMPARE(kept[1].device, std::string("cpu:1"));
    }

    void aRunKeepsAsManyDifferentPhasesAsItHasRoomFor() {
        RunPhases phases;
        for (int epoch = 1; epoch <= 10; ++epoch) {
            EpochFrame body;
            body.epoch = epoch;
            body.steps = 1;
            for (int i = 0; i < 100; ++i)
                body.phases["a" + std::to_string(epoch) + "_" + std::to_string(i)].sumS = 1;
            body.phases["forward"].sumS = 1;
            phases.take(0, body);
        }
        const PhaseTimes kept = phases.of(0);
        QCOMPARE(kept.size(), mostPhases);
        QCOMPARE(kept.at("forward").sumS, 10.0);
        StepsFrame window = windowAt(0, 0);
        window.epoch = 11;
        window.phases["late"].sumS = window.phases["forward"].sumS = 1;
        window.replicas.push_back({"cpu:0", window.phases});
        phases.take(1, Frame(), window);
        QVERIFY(!phases.of(1).contains("late"));
        QVERIFY(!phases.replicas().front().phases.contains("late"));
        QCOMPARE(phases.of(1).at("forward").sumS, 1.0);
    }

    void beyondTheLimitTheOldestSamplesOfAllDevicesGo() {
        RunDevices devices(10);
        for (int at = 1; at <= 3; ++at)
            takeSample(devices, "cpu:0", at);
        for (int at = 4; at <= 17; ++at)
            takeSample(devices, "cpu:1", at);
        const std::deque<LaneSample> &stopped = *devices.lane("cpu:0"), &other = *devices.lane("cpu:1");
        QCOMPARE(stopped.size(), std::size_t(1)); // each device's newest stays
        QCOMPARE(stopped.front().wallUs, std::int64_t(3));
        QCOMPARE(other.size(), std::size_t(10));
        QCOMPARE(other.front().wallUs, std::int64_t(8));
        QCOMPARE(other.front().sample.utilization.value_or(0), 8.0);
        QVERIFY(other.front().sample.kind.empty()); // texts are kept once
        QCOMPARE(other.back().sample.kind, std::string("cpu"));
        QCOMPARE(devices.names(), (std::vector<std::string>{"cpu:0", "cpu:1"}));
    }

    void windowsThatWaitForAnotherRankMoveWithTheCurve() {
        RunStore store(QStringLiteral("r"));
        StateFrame init;
        init.worldSize = 2;
        store.take(frame(init, 0, 0));
        takeSteps(store, 1, 20); // which wait; how long the epoch is nobody knows
        QCOMPARE(store.losses().ofRank(1)->points()[4].epoch, 1.0);
        store.take(frame(epochOf(20), 1, 100));
        QCOMPARE(store.losses().ofRank(1)->points()[4].epoch, 0.25);
        QVERIFY(store.losses().all().points().empty());
        takeSteps(store, 0, 20);
        const LossSeries &loss = store.losses().all(), &metric = *store.metrics().series("m0");
        QCOMPARE(loss.points().size(), std::size_t(20));
        QCOMPARE(loss.points()[4].epoch, 0.25);
        QCOMPARE(metric.points()[4].epoch, 0.25);
        store.take(frame(epochOf(40), 0, 200)); // it was longer
        QCOMPARE(loss.points()[4].epoch, 0.125);
        QCOMPARE(metric.points()[4].epoch, 0.125);
        QCOMPARE(store.losses().ofRank(0)->points()[4].epoch, 0.125);
    }

    void anEpochsCurvesArePlacedAnewOnceForEachLength() {
        RunLength length;
        const auto taken = [&](int rank, std::int64_t steps) {
            const RunLength::Misplaced found = length.take(rank, epochOf(steps));
            return std::pair(found.ofRank, found.ofAll);
        };
        const auto window = [&](std::int64_t step) {
            length.take(windowAt(step, 0));
            return length.placeOf(step, 1);
        };
        QCOMPARE(window(5), 1.0);
        QCOMPARE(taken(0, 10), std::pair(true, true));
        for (int rank = 1; rank < 100; ++rank)
            QCOMPARE(taken(rank, 10), std::pair(true, false));
        QCOMPARE(taken(0, 10), std::pair(false, false)); // ranks that were restarted
        QCOMPARE(taken(100, 20), std::pair(true, true));
        QCOMPARE(taken(0, 20), std::pair(true, false));
        QCOMPARE(window(0), 0.05); // the epoch began earlier than any window showed
        QCOMPARE(taken(0, 20), std::pair(true, true));
    }

    void aRunsMachinesAreInTheOrderInWhichTheyCame() {
        RunHosts hosts{"b", "a", "b"}; // two nodes of one machine
        QVERIFY(hosts.addNew("a") && hosts.addNew("c") && hosts.addNew("c"));
        QCOMPARE(hosts.list(), (std::vector<std::string>{"b", "a", "b", "c"}));
    }

    void aRunListsAsManyMachinesAsItMayHave() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(ddpRecord("r"));
        const std::string first = store.record()->machines.front().host;
        const auto takeRank = [&](int rank, const std::string &host) {
            StateFrame state;
            state.host = host;
            store.take(frame(state, rank, 0));
        };
        takeRank(0, first);
        for (int rank = 1; rank < mostNodes; ++rank)
            takeRank(rank, "h" + std::to_string(rank));
        const RunOutcome whole = outcomeOf(store);
        QCOMPARE(whole.hosts.list().size(), std::size_t(mostNodes));
        QCOMPARE(whole.hosts.list().front(), first);
        QCOMPARE(whole.hosts.list()[1], std::string("h1"));
        QVERIFY(whole.warnings.empty());
        takeRank(mostNodes, "h1");
        QVERIFY(outcomeOf(store).warnings.empty()); // which is listed
        takeRank(mostNodes + 1, "one more");
        const RunOutcome cut = outcomeOf(store);
        QCOMPARE(cut.nodes, mostNodes);
        QCOMPARE(cut.warnings, (std::vector<std::string>{"its record and its ranks name more than 4,096 machines: the "
                                                         "others are not listed"}));
    }

    void linesOfManyNodesComeInTheOrderInWhichTheyWereWritten() {
        constexpr int nodes = 300, lines = 20;
        const Home home;
        const RunFolder folder = runFolder("20260102T030405Z-89abcdef");
        QVERIFY(realFileSystem().makeFolders(folder.path));
        for (int node = 0; node < nodes; ++node) {
            std::string log;
            for (int i = 0; i < lines; ++i) {
                Frame frame;
                frame.wallUs = 1'000'000 + i * 1000 + node + (node == 7 ? 4'000'000 : 0); // its clock is ahead
                frame.body = HeartbeatFrame{};
                if (node == 0) {
                    LinkFrame link;
                    link.link = "up";
                    link.ofNode = i == 0 ? 7 : i;
                    link.clockOffsetS = link.ofNode == 7 ? 4 : 0;
                    frame.body = link;
                }
                log += sealLine(encode(frame), node, std::uint64_t(i)) + "\n";
            }
            QVERIFY(realFileSystem().writeAtomically(folder.log(node), log));
        }
        NodesReplay replay;
        replay.open(folder);
        std::vector<std::pair<std::int64_t, int>> known,
            waited; // of nodes whose offset node 0 has told, and of the others
        while (replay.slice([&](std::string_view line, int node) {
            const std::int64_t wallUs = wallUsOf(line) - (node == 7 ? 4'000'000 : 0);
            (node == 0 || node == 7 ? known : waited).emplace_back(wallUs, node);
        })) {
        }
        QCOMPARE(known.size(), std::size_t(2 * lines));
        QVERIFY(std::ranges::is_sorted(known));
        QCOMPARE(waited.size(), std::size_t((nodes - 2) * lines));
        const auto late = std::ranges::stable_partition(waited, [](const auto &line) { return line.second < lines; });
        QVERIFY(std::ranges::is_sorted(late)); // those whose offset is never told come once node 0's lines are out
    }

    void aLogThatIsLinkedAsManyNodesIsReadOnceAsTheFirstOnes() {
        constexpr int names = 500, lines = 100;
        const Home home;
        const RunFolder folder = runFolder("20260102T030405Z-89abcdef");
        QVERIFY(realFileSystem().makeFolders(folder.path));
        for (const int node : {0, 1}) {
            std::string log;
            for (int i = 0; i < lines; ++i) {
                Frame frame;
                frame.wallUs = 1'000'000 + i * 1000;
                frame.body = HeartbeatFrame{};
                log += sealLine(encode(frame), node, std::uint64_t(i)) + "\n";
            }
            QVERIFY(realFileSystem().writeAtomically(folder.log(node), log));
        }
        for (int node = 2; node < names; ++node)
            QCOMPARE(::link(folder.log(1).c_str(), folder.log(node).c_str()), 0);
        NodesReplay replay;
        std::map<int, int> read;
        bool more = true;
        while (more) {
            replay.open(folder); // as a follower, which looks for further logs
            more = replay.slice([&](std::string_view, int node) { ++read[node]; });
        }
        QCOMPARE(read, (std::map<int, int>{{0, lines}, {1, lines}}));
    }
};

QTEST_GUILESS_MAIN(CoreManyRanksTest)
#include "many_ranks_test.moc"
