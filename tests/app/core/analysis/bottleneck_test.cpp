// SPDX-License-Identifier: MIT
// What bounds a run is said by its phases, with what to try next.

#include <QFile>
#include <QTemporaryDir>

#include "analysis/causes/bottleneck.h"
#include "analysis/causes/bottleneck_tips.h"
#include "analysis/causes/phase_parts.h"
#include "analysis/fairness/fairness.h"
#include "analysis/fairness/setting_factors.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

using Phases = std::map<std::string, double, std::less<>>;

/// Three repeats of a config whose ranks report these phases; ten seconds of training, one of start and end.
RepeatGroup groupOf(const std::string &name, const RunConfig &config, const std::vector<Phases> &ranks,
                    double runS = 11) {
    RepeatGroup out{name, {}, false};
    for (int repeat = 0; repeat < 3; ++repeat) {
        RunOutcome run;
        run.run = name + std::to_string(repeat);
        run.name = name;
        run.config = config;
        run.processes = int(ranks.size());
        run.state = RunState::Done;
        for (std::size_t i = 0; i < ranks.size(); ++i)
            run.rankPhasesS[int(i)] = ranks[i];
        run.totalTrainingTimeS = 10;
        run.runTimeS = runS;
        run.launchS = runS - 10.5;
        MergedEpoch epoch;
        epoch.complete = true;
        epoch.durationS = 10;
        epoch.samples = 64'000;
        run.epochs = {epoch};
        out.runs.push_back(run);
    }
    return out;
}

RunConfig ddp(int devices) {
    RunConfig config;
    config.method = Method::Ddp;
    config.devices.clear();
    for (int i = 0; i < devices; ++i)
        config.devices.push_back(std::to_string(i));
    return config;
}

Phases phases(double load, double compute, double exposed = 0, double wait = 0) {
    Phases out = {{"load", load}, {"forward", compute / 3}, {"backward", compute / 3}, {"optimizer", compute / 3}};
    if (exposed > 0)
        out["exposed"] = exposed;
    if (exposed > 0)
        out["wait"] = wait;
    return out;
}

QString said(const Bottleneck &found) {
    QString out = QString::fromStdString(std::string(toString(found.bound)) + ": " + found.evidence);
    for (const SuggestedRun &tip : found.tips)
        out += QStringLiteral("; ") + QString::fromStdString(tip.name + " - " + tip.why);
    return out;
}

/// Every tip is a run that can be started and is not there yet.
void verifyTips(const Bottleneck &found, const std::vector<RepeatGroup> &others) {
    for (const SuggestedRun &tip : found.tips) {
        QVERIFY2(validate(tip.config).empty(), qPrintable(said(found)));
        QVERIFY2(tip.why.starts_with("At most ") || tip.why.starts_with("The start is "), tip.why.c_str());
        for (const RepeatGroup &other : others)
            QVERIFY2(!isSameSetting(*other.runs.front().config, tip.config), tip.name.c_str());
    }
}

} // namespace

class CoreBottleneckTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theLargestShareThatReachesItsThresholdBounds_data() {
        QTest::addColumn<QList<double>>("parts"); // load, compute, exposed, wait of rank 0, which waits
        QTest::addColumn<QString>("bound");
        using List = QList<double>;
        QTest::newRow("computes") << List{0.5, 9.3, 0.1, 0} << QStringLiteral("compute-bound");
        QTest::newRow("loads") << List{4, 5.8, 0.1, 0} << QStringLiteral("input-bound");
        QTest::newRow("loads just enough") << List{2, 7.8, 0.1, 0} << QStringLiteral("input-bound");
        QTest::newRow("loads just enough but for rounding")
            << List{2 * (1 - 1e-15), 7.8, 0.1, 0} << QStringLiteral("input-bound");
        QTest::newRow("loads too little") << List{1.9, 7.9, 0.1, 0} << QStringLiteral("compute-bound");
        QTest::newRow("communicates") << List{0.5, 6, 3.4, 0.2} << QStringLiteral("communication-bound");
        QTest::newRow("waits") << List{0.5, 7, 2.4, 2.2} << QStringLiteral("straggler-bound");
        QTest::newRow("loads more than it waits") << List{3, 5, 1.9, 1.8} << QStringLiteral("input-bound");
        QTest::newRow("the loop around it") << List{0.5, 5, 0.1, 0} << QStringLiteral("launch-bound");
    }
    void theLargestShareThatReachesItsThresholdBounds() {
        QFETCH(QList<double>, parts);
        QFETCH(QString, bound);
        Phases waiting = phases(parts[0], parts[1], parts[2], parts[3]);
        Phases slow = phases(parts[0], parts[1], parts[2] - parts[3] + 1e-9, 0);
        slow["backward"] += parts[3];
        for (const bool reported : {true, false}) {
            if (!reported) { // as a script's ranks: it follows from what their sums of gradients take
                waiting.erase("wait");
                slow.erase("wait");
            }
            const RepeatGroup group = groupOf("DDP on 2 devices", ddp(2), {waiting, slow});
            const Bottleneck found = bottleneckOf(group, {group});
            QVERIFY2(QString::fromStdString(std::string(toString(found.bound))) == bound, qPrintable(said(found)));
            QVERIFY(found.share && *found.share > 0 && *found.share <= 1);
            verifyTips(found, {group});
            if (found.bound == Bound::Straggler)
                QVERIFY2(found.evidence.find("rank 1 spends 2.20 s more than the others, most of it in backward") !=
                             std::string::npos,
                         found.evidence.c_str());
        }
    }

    void stagesOfAPipelineWaitForEachOtherUntilMoreMicroBatchesFillIt() {
        RunConfig config = ddp(2);
        config.method = Method::Pipeline;
        config.microBatches = 2;
        const RepeatGroup group =
            groupOf("pipeline on 2 devices", config, {phases(0.1, 6, 3.8, 3.5), phases(0, 6, 3.9, 3.5)});
        const Bottleneck found = bottleneckOf(group, {group});
        QVERIFY2(found.bound == Bound::Bubble, qPrintable(said(found)));
        QVERIFY2(found.evidence.find("Of 2 equally long stages with 2 micro-batches it would be 33 %") !=
                     std::string::npos,
                 found.evidence.c_str());
        QVERIFY(!found.tips.empty());
        QCOMPARE(found.tips.front().config.microBatches, 4); // half of 3.5 s of waiting goes
        QVERIFY2(found.tips.front().why.find(
                     "At most 1.21×: the stage that waits least waits for 35 % of training time") != std::string::npos,
                 found.tips.front().why.c_str());
        verifyTips(found, {group});
    }

    void ofUnequalStagesTheWaitingIsTheirMeanAsTheBubbleIs() {
        RunConfig config = ddp(2);
        config.method = Method::Pipeline;
        config.microBatches = 1;
        const RepeatGroup group = groupOf("pipeline on 2 devices", config, {phases(0, 8, 2, 2), phases(0, 2, 8, 8)});
        const std::string even = bottleneckOf(group, {group}).evidence;
        QVERIFY2(even.find("wait for each other for 50 % of training time on average (5.00 s") != std::string::npos,
                 even.c_str());
        QVERIFY2(even.ends_with("with 1 micro-batch it would be 50 %."), even.c_str());
        config.microBatches = 4;
        const RepeatGroup filled =
            groupOf("pipeline on 2 devices", config, {phases(0, 9.8, 0.2, 0.2), phases(0, 4, 6, 6)});
        const std::string uneven = bottleneckOf(filled, {filled}).evidence;
        QVERIFY2(uneven.ends_with("would be 20 %; more comes from stages that take unequally long: stage 1 waits 2 %, "
                                  "stage 2 60 %."),
                 uneven.c_str());
        config.devices = {"0", "1", "2", "3"};
        config.stages = 2; // two pipelines: the formula is of one
        const RepeatGroup twice =
            groupOf("pipeline on 4 devices, 2 stages", config,
                    {phases(0, 8, 2, 2), phases(0, 8, 2, 2), phases(0, 8, 2, 2), phases(0, 8, 2, 2)});
        const std::string both = bottleneckOf(twice, {twice}).evidence;
        QVERIFY2(both.ends_with("Of 2 equally long stages with 4 micro-batches it would be 20 %."), both.c_str());
        QVERIFY(bottleneckOf(filled, {filled}).tips.empty()); // the stage that determines the step hardly waits
        QCOMPARE(*partsOf(group)->computeS, 5.0);
    }

    void noControlRunIsOfferedThatWouldTrainAsTheReferenceDoes() {
        RunConfig config = ddp(2);
        config.method = Method::Pipeline;
        config.microBatches = 1;
        const RepeatGroup baseline = groupOf("baseline", {}, {phases(0, 9)}),
                          pipeline = groupOf("pipeline on 2 devices, 1 micro-batch", config, {phases(0, 4, 5, 4)});
        const auto factors = factorsBetween(baseline, pipeline);
        QCOMPARE(factors.size(), std::size_t(2));
        for (std::uint32_t mask = 1; mask < 3; ++mask) {
            const auto control = controlBetween(baseline, pipeline, factors, mask);
            const bool alone = factors[mask - 1].key == "micro_batches"; // which a baseline has none of
            QCOMPARE(control.has_value(), !alone);
        }
    }

    void whatIsSuggestedReadsNoFileThatARunNames() {
        const QTemporaryDir folder;
        QFile description(folder.filePath(QStringLiteral("net.json")));
        QVERIFY(description.open(QIODevice::WriteOnly) && description.write("{}") == 2);
        description.close();
        RunConfig one, two = ddp(2);
        one.model = two.model = folder.filePath(QStringLiteral("net.pt")).toStdString();
        two.workers = 4;
        QVERIFY2(!validate(one).empty(), "whoever reads it finds a mistake");
        const RepeatGroup baseline = groupOf("baseline", one, {phases(5, 4.8)}),
                          wide = groupOf("DDP on 2 devices, 4 workers", two, {phases(0, 9), phases(0, 9)});
        QVERIFY(controlBetween(baseline, wide, factorsBetween(baseline, wide), 1));
        QVERIFY(!bottleneckOf(baseline, {baseline}).tips.empty());
        const auto findings = fairnessOf(baseline, wide, {}, {});
        QVERIFY(
            std::ranges::any_of(findings, [](const FairnessFinding &finding) { return finding.control.has_value(); }));
    }

    void withoutPhasesItIsUnknown() {
        const RepeatGroup silent = groupOf("script", {}, {Phases{}});
        const Bottleneck found = bottleneckOf(silent, {});
        QVERIFY(found.bound == Bound::Unknown);
        QVERIFY(!found.share);
        QVERIFY(found.tips.empty());
        QCOMPARE(found.evidence, std::string("Unknown: it reported no phases of its steps."));
        const RepeatGroup half = groupOf("script", {}, {Phases{{"forward", 9}}});
        QCOMPARE(bottleneckOf(half, {}).evidence, std::string("Unknown: it reported no phase for loading."));
    }

    void ofARunThatReportsPhasesTheTimeThatIsUnknownIsNamed() {
        RepeatGroup untimed = groupOf("script", {}, {phases(2, 7)}), unended = untimed, unlike = untimed;
        for (RunOutcome &run : untimed.runs)
            run.totalTrainingTimeS.reset();
        for (RunOutcome &run : unended.runs)
            run.runTimeS.reset();
        for (RunOutcome &run : unlike.runs)
            run.totalTrainingTimeS = 1;
        QCOMPARE(bottleneckOf(untimed, {}).evidence, std::string("Unknown: how long it trained is unknown."));
        QCOMPARE(bottleneckOf(unended, {}).evidence, std::string("Unknown: how long it ran is unknown."));
        QCOMPARE(bottleneckOf(unlike, {}).evidence,
                 std::string("Unknown: its phases do not fit the time for which it trained."));
        untimed.runs.front().rankPhasesS.clear(); // one that says nothing hides none that does
        QCOMPARE(bottleneckOf(untimed, {}).evidence, std::string("Unknown: how long it trained is unknown."));
    }

    void whatARankWaitsAtTheEndsOfEpochsIsNoTimeOutsideThePhases() {
        for (const bool reported : {false, true}) {
            Phases quick = phases(0.5, 3, 0.2, 0.1), slow = phases(0.5, 3, 0.1, 0.0);
            slow["forward"] += 6.4;
            if (!reported) {
                quick.erase("wait");
                slow.erase("wait");
            }
            RepeatGroup group = groupOf("DDP on 2 devices", ddp(2), {slow, quick});
            for (RunOutcome &run : group.runs)
                run.epochs.front().rankDurationS = {{0, 10}, {1, 3.7}};
            const auto parts = partsOf(group);
            QVERIFY(std::abs(*parts->waitS - 6.4) < 1e-9 && std::abs(*parts->communicationS - 0.1) < 1e-9);
            QVERIFY2(std::abs(parts->restS) < 1e-9, qPrintable(QString::number(parts->restS)));
            const Bottleneck found = bottleneckOf(group, {group});
            QVERIFY2(found.bound == Bound::Straggler &&
                         found.evidence.find("rank 0 spends 6.40 s more than the others, most of it in forward") !=
                             std::string::npos,
                     qPrintable(said(found)));
        }
    }

    void whereNoRankReportsItsSumsTheEndsOfEpochsAloneTellWhoWaits() {
        RepeatGroup group = groupOf("DDP on 2 devices", ddp(2), {phases(0.5, 9.5), phases(0.5, 3)});
        for (RunOutcome &run : group.runs)
            run.epochs.front().rankDurationS = {{0, 10}, {1, 3.5}};
        const Bottleneck found = bottleneckOf(group, {group});
        QVERIFY2(found.bound == Bound::Straggler && found.evidence.find("rank 0 spends 6.50 s") != std::string::npos,
                 qPrintable(said(found)));
    }

    void aRankThatIsLateOutsideThePhasesIsNamedThoughAnotherOnesOwnStepsAreLonger() {
        for (const double own : {2.2, 2.7}) { // of the late rank; the other one's 2.5
            Phases waiting = phases(0, 2.5, 6.5), late = phases(0, own, 0.2);
            waiting["other"] = 1;
            late["other"] = 9.8 - own;
            for (Phases *rank : {&waiting, &late})
                rank->erase("wait"); // as a script's
            const RepeatGroup group = groupOf("DDP on 2 devices", ddp(2), {late, waiting});
            const Bottleneck found = bottleneckOf(group, {group});
            QVERIFY2(found.bound == Bound::Straggler &&
                         found.evidence.find(": rank 0 is late, by time outside the phases that are told apart.") !=
                             std::string::npos,
                     qPrintable(said(found)));
            const auto fewer = std::ranges::find_if(
                found.tips, [](const SuggestedRun &tip) { return tip.config.devices.size() == 1; });
            QVERIFY2(fewer != found.tips.end() && fewer->config.devices.front() == "1", qPrintable(said(found)));
        }
    }

    void ranksThatWaitForEachOtherInTurnAreNotHeldUpByTheSlightlySlowerOne() {
        const RepeatGroup group =
            groupOf("DDP on 2 devices", ddp(2), {phases(0.5, 7, 2.2, 2.0), phases(0.5, 7.6, 1.6, 1.4)});
        const Bottleneck found = bottleneckOf(group, {group});
        QVERIFY2(found.bound == Bound::Straggler &&
                     found.evidence.ends_with(": no one rank is slower by as much, they wait for each other in turn."),
                 qPrintable(said(found)));
    }

    void theStepsOfAScriptAreThoseThatItMadeWhateverTheLastOnesTook() {
        RepeatGroup group = groupOf("script", {}, {phases(2.4, 7.5)});
        RunOutcome &run = group.runs.front();
        run.script = true;
        run.totalTrainingTimeS = 10;
        QVERIFY(!stepsOf(group)); // never samples over the default batch of lockstep-trainer
        run.steps = 16;
        run.metrics["step_ms"] = 10; // of its last epoch
        QCOMPARE(stepsOf(group).value_or(0), 16.0);
        QVERIFY2(bottleneckOf(group, {}).evidence.find("150 ms a step") != std::string::npos,
                 bottleneckOf(group, {}).evidence.c_str());
    }

    void anInputBoundRunGetsTipsOnTheLoaderAndOnWorkersWithWhatTheyCouldGain() {
        RunConfig config;
        config.loader = "item";
        const RepeatGroup group = groupOf("baseline", config, {phases(2.4, 7.5)});
        const Bottleneck found = bottleneckOf(group, {group});
        QCOMPARE(found.evidence,
                 std::string("Loading takes 24 % of training (2.40 s, 2.40 ms a step), computing 75 %."));
        QCOMPARE(found.tips.size(), std::size_t(2));
        QCOMPARE(found.tips[0].name, std::string("baseline, batch loader"));
        QVERIFY2(found.tips[0].why.starts_with("At most 1.32×: loading is 24 %"), found.tips[0].why.c_str());
        QCOMPARE(found.tips[1].config.workers, 2);
        verifyTips(found, {group});

        RunConfig tried = config;
        tried.workers = 2;
        const RepeatGroup other = groupOf("baseline, 2 workers", tried, {phases(0.1, 9.8)});
        const Bottleneck again = bottleneckOf(group, {group, other});
        QVERIFY2(again.tips.size() == 1 && again.tips[0].config.loader == "batch", qPrintable(said(again)));
    }

    void theSlowRankIsNamedWithWhereItIsSlow() {
        const Phases waiting = phases(0.5, 6, 3.4, 3.2);
        Phases slow = phases(0.5, 6, 0.2, 0);
        slow["backward"] += 3.2;
        const RepeatGroup group = groupOf("DDP on 2 devices", ddp(2), {waiting, slow});
        const Bottleneck found = bottleneckOf(group, {});
        QVERIFY2(QString::fromStdString(found.evidence)
                     .contains(QStringLiteral("rank 1 spends 3.20 s more than the others, most of it in backward")),
                 qPrintable(said(found)));
        verifyTips(found, {group});
    }

    void whatEvenSharesWasteOnUnlikeDevicesIsSaidAndUnevenOnesAreATip() {
        // Own times of 3.5 and 7.35 s: with shares in proportion to speed both take 2 ÷ (1/3.5 + 1/7.35) = 4.742 s.
        const RepeatGroup group =
            groupOf("DDP on 2 devices", ddp(2), {phases(0.5, 3, 4, 3.85), phases(0.5, 6.85, 0.15, 0)});
        const Bottleneck found = bottleneckOf(group, {group});
        QVERIFY2(found.bound == Bound::Straggler, qPrintable(said(found)));
        QVERIFY2(found.evidence.ends_with(
                     " Even shares of the batch waste 35 % of the slowest rank's own time, which is 2.10 times the "
                     "fastest's."),
                 found.evidence.c_str());
        const auto uneven =
            std::ranges::find_if(found.tips, [](const auto &tip) { return tip.config.shards == "measured"; });
        QVERIFY2(uneven != found.tips.end(), qPrintable(said(found)));
        QCOMPARE(uneven->name, std::string("DDP on 2 devices, measured shards"));
        verifyTips(found, {group});
        RunConfig tried = ddp(2);
        tried.shards = "measured";
        const RepeatGroup other =
            groupOf("DDP, measured shards", tried, {phases(0.5, 3, 4, 3.85), phases(0.5, 6.85, 0.15, 0)});
        const Bottleneck again = bottleneckOf(other, {other});
        QVERIFY2(again.evidence.find("Even shares") == std::string::npos, again.evidence.c_str());
    }

    void severalRanksThatAreAboutAsSlowAreNamedAsSeveral() {
        const Phases waiting = phases(0.5, 6, 3.4, 3.2);
        Phases slow = phases(0.5, 6, 0.2, 0), slowToo = slow;
        slow["backward"] += 3.2;
        slowToo["backward"] += 3.0;
        const Bottleneck found =
            bottleneckOf(groupOf("DDP on 4 devices", ddp(4), {waiting, slow, waiting, slowToo}), {});
        QVERIFY2(QString::fromStdString(found.evidence)
                     .contains(QStringLiteral(
                         "ranks 1 and 3 spend up to 3.20 s more than the others, most of it in backward")),
                 qPrintable(said(found)));
    }

    void aCauseThatIsNearItsThresholdIsNamedBesideTheBound() {
        const auto rank = phases(1.99, 6.02, 1.99, 0);
        const Bottleneck computing = bottleneckOf(groupOf("DDP on 2 devices", ddp(2), {rank, rank}), {});
        QVERIFY2(computing.bound == Bound::Compute, qPrintable(said(computing)));
        QVERIFY2(computing.evidence.find("loading 19.9 %") != std::string::npos &&
                     computing.evidence.find("Close behind: exposed communication, 19.9 %.") != std::string::npos,
                 qPrintable(said(computing)));
        const auto both = phases(3, 4.5, 2.5, 0);
        const Bottleneck loading = bottleneckOf(groupOf("DDP on 2 devices", ddp(2), {both, both}), {});
        QVERIFY2(loading.bound == Bound::Input, qPrintable(said(loading)));
        QVERIFY2(loading.evidence.ends_with(" Close behind: exposed communication, 25 %."), qPrintable(said(loading)));
        const auto little = phases(3, 6.5, 0.5, 0);
        QVERIFY(bottleneckOf(groupOf("DDP on 2 devices", ddp(2), {little, little}), {}).evidence.find("Close behind") ==
                std::string::npos);
    }

    void moreDevicesAreSuggestedOnlyWhereARunShowsThatTheMachineHasThem() {
        const RepeatGroup alone = groupOf("baseline", ddp(1), {phases(0.2, 9.5)});
        RunConfig dp = ddp(2);
        dp.method = Method::Dp;
        const auto suggestsTwo = [&](void (*alter)(RunOutcome &)) {
            RepeatGroup two = groupOf("DP on 2 devices", dp, {phases(0.2, 9.5)});
            for (RunOutcome &run : two.runs)
                alter(run);
            return std::ranges::any_of(bottleneckOf(alone, {alone, two}).tips, [](const SuggestedRun &tip) {
                return tip.config.method == Method::Ddp && tip.config.devices.size() == 2;
            });
        };
        QVERIFY(suggestsTwo([](RunOutcome &) {}));
        QVERIFY2(!suggestsTwo([](RunOutcome &run) { run.oversubscribed = true; }), "its devices shared cores");
        QVERIFY2(!suggestsTwo([](RunOutcome &run) { run.nodes = 2; }), "they were of several machines");
    }

    void whatTensorCoresMayGainIsNoBoundOfTheBytes() {
        RunConfig config = ddp(1);
        config.device = "cuda";
        const Bottleneck found = bottleneckOf(groupOf("DDP", config, {phases(0.1, 8, 0, 0)}), {});
        const auto bf16 =
            std::ranges::find_if(found.tips, [](const auto &tip) { return tip.config.precision == "bf16"; });
        QVERIFY(bf16 != found.tips.end());
        // Computing is 80 % of it: without any it would be 5 times as fast, with half of it 1.67 times.
        QVERIFY2(bf16->why.starts_with("At most 5.00×: "), bf16->why.c_str());
    }

    void whereCommunicationEatsTheGainFewerDevicesAreATip() {
        const RepeatGroup group =
            groupOf("DDP on 2 devices", ddp(2), {phases(0.1, 2, 7.8, 0.1), phases(0.1, 2, 7.8, 0.1)});
        const Bottleneck found = bottleneckOf(group, {group});
        QVERIFY(found.bound == Bound::Communication);
        QVERIFY2(std::ranges::any_of(found.tips,
                                     [](const SuggestedRun &tip) { return tip.config.method == Method::Baseline; }),
                 qPrintable(said(found)));
        const auto anySmaller = [](const Bottleneck &of) {
            return std::ranges::any_of(of.tips, [](const SuggestedRun &tip) { return tip.config.bucketMb < 25; });
        };
        QVERIFY2(!anySmaller(found), "LeNet's 241 KiB fit in the first bucket");
        verifyTips(found, {group});
        RunConfig larger = ddp(2);
        larger.model = "convnet"; // 4.6 MiB
        RepeatGroup other = groupOf("DDP on 2 devices", larger, {phases(0.1, 2, 7.8, 0.1), phases(0.1, 2, 7.8, 0.1)});
        QVERIFY(anySmaller(bottleneckOf(other, {other})));
        const auto ofBuckets = [&](const std::vector<BucketTime> &sent) {
            for (RunOutcome &run : other.runs)
                run.buckets = sent;
            return anySmaller(bottleneckOf(other, {other}));
        };
        QVERIFY2(!ofBuckets({{0, 4'724'264, 4, {}, {}, {}}, {1, 75'316, 4, {}, {}, {}}}),
                 "the first bucket has the same cap under either");
        QVERIFY2(!ofBuckets({{0, 1'100'000, 4, {}, {}, {}}, {1, 3'700'000, 1, {}, {}, {}}}), "a tensor can't be cut");
        QVERIFY(ofBuckets({{0, 1'100'000, 4, {}, {}, {}}, {1, 3'700'000, 2, {}, {}, {}}}));
    }

    void aTipWantsNoCoreThatIsNotThere() {
        RunConfig config;
        config.loader = "item";
        RepeatGroup group = groupOf("item loader", config, {phases(2.4, 7.5)});
        const auto workersTip = [&](const char *cores) -> std::optional<RunConfig> {
            for (RunOutcome &run : group.runs) {
                run.conditions.machines.resize(1);
                run.conditions.machines.front().allowedCores = cores;
            }
            for (const SuggestedRun &tip : bottleneckOf(group, {group}).tips)
                if (tip.config.workers > 0)
                    return tip.config;
            return std::nullopt;
        };
        QVERIFY(!workersTip("0"));
        QCOMPARE(workersTip("0-1")->workers, 1);
        QCOMPARE(workersTip("0-1")->workerCores, std::string("1"));
        QCOMPARE(workersTip("0-7")->workerCores, std::string("1-2"));
    }

    void moreDevicesTakeTheirCoresFromNoWorker() {
        RunConfig config;
        config.workers = 1;
        config.workerCores = "1";
        RunConfig dp = ddp(2);
        dp.method = Method::Dp;
        RepeatGroup group = groupOf("item loader, 1 worker", config, {phases(0.3, 9.5)});
        const RepeatGroup wide = groupOf("DP on 2 devices", dp, {phases(0.3, 9.5)});
        const auto tips = [&](const char *cores) {
            for (RunOutcome &run : group.runs) {
                run.conditions.machines.resize(1);
                run.conditions.machines.front().allowedCores = cores;
            }
            return bottleneckOf(group, {group, wide}).tips;
        };
        QVERIFY2(tips("0-2").empty(), "two to train, and one for two processes' workers");
        QCOMPARE(tips("0-3").size(), std::size_t(1));
        QCOMPARE(tips("0-3").front().config.workerCores, std::string("2-3"));
    }

    void aTipIsNamedByWhatItsRunHasUnlikeTheReference() {
        RunConfig item;
        item.loader = "item";
        item.workers = 1;
        RepeatGroup reference = groupOf("baseline", {}, {phases(0.3, 9.5)});
        reference.reference = true;
        RunConfig dp = ddp(2);
        dp.method = Method::Dp;
        const RepeatGroup wide = groupOf("DP on 2 devices", dp, {phases(0.3, 9.5)});
        const RepeatGroup other = groupOf("item loader, 1 worker", item, {phases(0.3, 9.5)});
        const std::vector<RepeatGroup> all = {reference, wide, other};
        const auto nameOf = [&](const RepeatGroup &group) {
            const Bottleneck found = bottleneckOf(group, all);
            return found.tips.empty() ? std::string() : found.tips.front().name;
        };
        QCOMPARE(nameOf(reference), std::string("DDP on 2 devices"));
        QCOMPARE(nameOf(other), std::string("DDP on 2 devices, 1 worker, item loader"));
    }

    void aShareUnderItsThresholdIsNotRoundedOntoIt() {
        QCOMPARE(shareText(0.1996, 0.20), std::string("19.96 %"));
        QCOMPARE(shareText(0.198, 0.20), std::string("19.8 %"));
        QCOMPARE(shareText(0.2004, 0.20), std::string("20 %"));
        QCOMPARE(shareText(0.11, 0.20), std::string("11 %"));
    }

    void aRunThatIsMostlyItsStartIsLaunchBound() {
        const RepeatGroup group = groupOf("baseline", {}, {phases(0.5, 9.4)}, 40);
        const Bottleneck found = bottleneckOf(group, {group});
        QVERIFY(found.bound == Bound::Launch);
        QVERIFY2(found.evidence.starts_with("74 % of the run passes before a rank trains"), found.evidence.c_str());
        QCOMPARE(found.tips.size(), std::size_t(1));
        QCOMPARE(found.tips[0].config.epochs, 40);
        // 29.5 s of 40; with four times as much training and testing, which took 10.5 s, of 71.5.
        QCOMPARE(found.tips[0].why,
                 std::string("The start is 74 % of the run's time; with 40 epochs it would be 41 %, so "
                             "that training weighs more. No epoch gets faster."));
    }

    void gpusThatIdleWaitForTheirHost() {
        RunConfig config;
        config.device = "cuda";
        RepeatGroup group = groupOf("baseline", config, {phases(0.3, 9.5)});
        for (RunOutcome &run : group.runs) {
            DeviceUse use;
            use.device = "cuda:0";
            use.utilizationMean = 0.4;
            run.epochs.front().devices = {use};
        }
        const Bottleneck found = bottleneckOf(group, {group});
        QVERIFY2(found.bound == Bound::Launch && found.evidence.starts_with("The GPUs have a kernel running in 40 %"),
                 qPrintable(said(found)));
        verifyTips(found, {group});
        const auto graph = std::ranges::find_if(found.tips, [](const auto &tip) { return tip.config.cudaGraph; });
        QVERIFY2(graph != found.tips.end(), qPrintable(said(found)));
        QCOMPARE(QString::fromStdString(graph->name), QStringLiteral("baseline, CUDA graph"));
        QCOMPARE(
            QString::fromStdString(graph->why),
            QStringLiteral("At most 2.50×: the time around kernels is 60 %, and a CUDA graph launches a step's kernels "
                           "at once."));
        for (RunOutcome &run : group.runs) // what is there already is no tip, nor what is refused
            run.config->cudaGraph = true;
        QVERIFY(std::ranges::none_of(bottleneckOf(group, {group}).tips, [](const auto &tip) {
            return tip.config.cudaGraph && tip.config.batchSize == 64;
        }));
        for (RunOutcome &run : group.runs) {
            *run.config = ddp(2);
            run.config->device = "cuda";
        }
        QVERIFY(std::ranges::none_of(bottleneckOf(group, {group}).tips,
                                     [](const auto &tip) { return tip.config.cudaGraph; }));
    }

    void moreDevicesAreATipOnlyWhereAnotherRunShowsThem() {
        const RepeatGroup group = groupOf("baseline", {}, {phases(0.3, 9.5)});
        QVERIFY(bottleneckOf(group, {group}).tips.empty());
        RunConfig dp = ddp(2);
        dp.method = Method::Dp;
        const RepeatGroup wide = groupOf("DP on 2 devices", dp, {phases(0.3, 9.5)});
        const Bottleneck found = bottleneckOf(group, {group, wide});
        QVERIFY2(found.tips.size() == 1 && found.tips[0].name == "DDP on 2 devices", qPrintable(said(found)));
    }

    void aScriptIsOnlyGivenWhatItsCommandAsksFor() {
        RepeatGroup group = groupOf("Python", {}, {phases(5, 4.8)});
        for (RunOutcome &run : group.runs)
            run.script = true;
        QVERIFY(bottleneckOf(group, {group}).tips.empty());
        group.command = {"{python}", "train.py", "--workers", "{workers}"};
        const Bottleneck found = bottleneckOf(group, {group});
        QVERIFY2(found.tips.size() == 1 && found.tips[0].config.workers == 2 && found.tips[0].command == group.command,
                 qPrintable(said(found)));
    }
};

QTEST_GUILESS_MAIN(CoreBottleneckTest)
#include "bottleneck_test.moc"
