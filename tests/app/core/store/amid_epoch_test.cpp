// SPDX-License-Identifier: MIT
// Epochs of which a run made a part: after a checkpoint in their middle, what was made before is none of its own; and the last one, in whose
// middle it ended.
#include <cmath>
#include <functional>

#include "analysis/causes/phase_parts.h"
#include "analysis/compare/energy.h"
#include "analysis/compare/repeat_group.h"
#include "analysis/compare/time_to_target.h"
#include "analysis/history/run_diff.h"
#include "analysis/history/work_amount.h"
#include "core_support.h"
#include "ipc/phase_sums.h"
#include "models/live_figures.h"
#include "store/run_outcome.h"
#include "store/run_progress.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

constexpr std::int64_t stepsBefore = 15; // of the first epoch's 20

bool near(double a, double b) {
    return std::abs(a - b) < 1e-9;
}

/// The last quarter of `first` and the epoch after it, as lockstep-trainer reports them; three quarters took 6.3 s before.
void takeResumed(RunStore &store, int first) {
    RunRecord record = ddpRecord("r");
    record.config->epochs = first + 1;
    record.config->resume = true;
    store.setRecord(record);
    for (Frame one : ddpRecording()) {
        const auto *steps = std::get_if<StepsFrame>(&one.body);
        if (steps && steps->epoch == 1 && steps->firstStep < stepsBefore)
            continue;
        if (auto *state = std::get_if<StateFrame>(&one.body); state && state->totalSteps) {
            state->totalSteps = 20 * (first + 1);
            state->epochs = first + 1;
        }
        if (auto *window = std::get_if<StepsFrame>(&one.body)) {
            window->epoch += first - 1;
            window->firstStep += 20 * (first - 1);
            window->lastStep += 20 * (first - 1);
        }
        if (auto *epoch = std::get_if<EpochFrame>(&one.body)) {
            if (epoch->epoch == 1) {
                epoch->before = {6.3, 480, stepsBefore, {{"forward", {3.0, 0.02}}, {"backward", {3.0, 0.02}}}};
                epoch->durationS = 6.3 + 0.12;
                epoch->phases = {{"forward", {3.05, 0.02}}, {"backward", {3.06, 0.02}}};
            }
            epoch->epoch += first - 1;
        }
        if (auto *eval = std::get_if<EvalFrame>(&one.body))
            eval->epoch += first - 1;
        one.rseq.reset();
        store.take(one);
    }
}

/// `summedFrom`: the first epoch that its summary counts.
RunOutcome resumed(int first, int summedFrom = 1) {
    RunStore store(QStringLiteral("r"));
    takeResumed(store, first);
    RunResult result = doneResult("r", 1, 1.4);
    Summary &summary = result.summary.emplace();
    for (int epoch = summedFrom; epoch < first; ++epoch)
        summary.epochs.push_back({epoch, 0.9, 8.4, 1280});
    summary.epochs.push_back({first, 1.0, 6.42, 1280});
    summary.epochs.push_back({first + 1, 0.5, 0.45, 1280});
    summary.totalTrainingTimeS = 8.4 * (first - 1) + 6.42 + 0.45;
    summary.steps = 20 * (first + 1);
    summary.phasesS = {{"forward", 4}, {"backward", 4}};
    store.setResult(result);
    return outcomeOf(store);
}

using Alter = std::function<void(EpochFrame &)>;

/// Two epochs from the first step on, whose last tests may be left out.
void takeTrained(RunStore &store, const Alter &alter, int lastTest, bool over = true) {
    store.setRecord(ddpRecord("r"));
    for (Frame one : ddpRecording()) {
        const auto *eval = std::get_if<EvalFrame>(&one.body);
        const auto *state = std::get_if<StateFrame>(&one.body);
        if ((eval && eval->epoch > lastTest) || (!over && state && state->state == RunState::Done))
            continue;
        if (auto *epoch = std::get_if<EpochFrame>(&one.body))
            alter(*epoch);
        one.rseq.reset();
        store.take(one);
    }
}

RunOutcome trainedBy(const Alter &alter, int lastTest = 2, bool over = true) {
    RunStore store(QStringLiteral("r"));
    takeTrained(store, alter, lastTest, over);
    return outcomeOf(store);
}

} // namespace

class AmidEpochTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void itsOwnTrainingIsWhatItMadeItself() {
        for (const int first : {1, 3}) {
            const RunOutcome run = resumed(first);
            QVERIFY2(run.warnings.empty(), run.warnings.empty() ? "" : run.warnings.front().c_str());
            QCOMPARE(run.firstEpoch, first);
            QVERIFY(run.amidEpoch);
            QVERIFY(near(*run.totalTrainingTimeS, 8.4 * (first - 1) + 6.87));
            QVERIFY2(near(*trainedHereS(run), 0.12 + 0.45), qPrintable(QString::number(*trainedHereS(run))));
            const auto parts = partsOf(run);
            QVERIFY(parts);
            QVERIFY(near(parts->trainingS, 0.57));
            QVERIFY(parts->restS >= 0 && parts->startUpS < 1.4);
        }
    }

    void ofEpochsBeforeOfWhichNothingIsKnownTheTimeIsNone() {
        const RunOutcome run = resumed(3, 3); // as an agent sums up what a listener heard
        QVERIFY(run.amidEpoch && run.earlierS <= 0);
        QVERIFY(!hitOf(run, {Target::Kind::Accuracy, 0.8}).seconds);
    }

    void itsPhasesAndEnergyAreThoseOfItsOwnSteps() {
        RunOutcome run = resumed(1);
        QVERIFY(near(run.rankPhasesS.at(0).at("forward"), 0.05 + 0.2));
        QVERIFY(near(run.rankPhasesS.at(1).at("backward"), 0.06 + 0.2));
        QVERIFY(additiveSum(run.phasesS) <= *trainedHereS(run));
        run.conditions.energy.emplace();
        run.conditions.energy->packagesJ = 1600.0;
        run.conditions.energy->packagesS = 1.0;
        run.conditions.energy->nodes = 1;
        QCOMPARE(*energyPerSampleOf(run), 1.0); // of 1,600 samples, not of 2,560
    }

    void itIsComparedAsOneThatMadeAPartOfTheEpochs() {
        const RunOutcome run = resumed(1);
        RunOutcome scratch = run;
        scratch.amidEpoch = false;
        scratch.earlierS = 0;
        const RepeatGroup one{"scratch", {scratch}, true}, other{"resumed", {run}, false};
        QVERIFY(!beginAlike(commonFirstEpoch(one.runs), commonFirstEpoch(other.runs)));
        QVERIFY(!whyOtherEpochs(one, other).empty());
        QVERIFY(whyOtherEpochs(one, one).empty());
        QCOMPARE(*samplesSeen(run), 2560.0); // of all its epochs, as its training time is
    }

    void aTargetsTimeCountsWhatWasMadeBeforeOnce() {
        const Target eighty{Target::Kind::Accuracy, 0.79}; // at the end of the first epoch
        QVERIFY(near(*hitOf(resumed(1), eighty).seconds, 6.42));
        QVERIFY(!hitOf(resumed(3), eighty).seconds); // by its first own test
        const Target more{Target::Kind::Accuracy, 0.85};
        QVERIFY(near(*hitOf(resumed(3), more).seconds, 2 * 8.4 + 6.42 + 0.45 / 2));
    }

    void anEpochInWhoseMiddleARunEndedIsAPart() {
        const auto cut = [](std::int64_t samples, std::int64_t steps, std::int64_t whole) {
            return [=](EpochFrame &epoch) {
                epoch.samples = epoch.epoch == 1 ? whole : samples;
                epoch.steps = epoch.epoch == 1 ? 20 : steps;
            };
        };
        const auto isPart = [](const RunOutcome &run) { return run.epochs.back().part; };
        const RunOutcome part = trainedBy(cut(288, 9, 640));
        QVERIFY(isPart(part) && !part.epochs.front().part);
        QVERIFY(!laterEpochS(part));
        QVERIFY2(isPart(trainedBy(cut(0, 9, 0))), "by its steps");
        QVERIFY2(!isPart(trainedBy(cut(640, 9, 640))), "all samples, in larger batches");
        QVERIFY2(!isPart(trainedBy(cut(0, 20, 0))), "as many steps");
        QVERIFY2(!isPart(trainedBy(cut(288, 9, 640), 2, false)), "nothing has ended");
    }

    void anAccuracyTellsItsEpochIfLaterOnesWereMade() {
        const auto asItIs = [](EpochFrame &) {};
        const RunOutcome whole = trainedBy(asItIs), early = trainedBy(asItIs, 1);
        QVERIFY(!whole.accuracyEpoch && near(*whole.testAccuracy, 0.9));
        QCOMPARE(*early.accuracyEpoch, 1);
        QVERIFY(near(*early.testAccuracy, 0.8));
        QVERIFY2(!trainedBy(asItIs, 1, false).accuracyEpoch, "a test may be still to come");
    }

    void accuraciesAfterUnlikeEpochsAreNotSubtracted() {
        const auto changeBetween = [](int lastTest, int otherLastTest) {
            RunStore a(QStringLiteral("r")), b(QStringLiteral("r"));
            takeTrained(
                a, [](EpochFrame &) {}, lastTest);
            takeTrained(
                b, [](EpochFrame &) {}, otherLastTest);
            for (const DiffSection &section : diffRuns(a, b).sections)
                for (const DiffLine &line : section.lines)
                    if (line.key == QLatin1String("test_accuracy"))
                        return line.change + line.help;
            return QString();
        };
        QCOMPARE(changeBetween(1, 2),
                 QStringLiteral("The two were not last tested after the same part of their training"));
        QVERIFY(changeBetween(1, 1).isEmpty());
    }

    void evaluationsOfEarlierEpochsAreNotLeftToDo() {
        RunStore store(QStringLiteral("r"));
        takeResumed(store, 9);
        const Progress all = progressOf(store); // epochs 9 and 10 of 10
        QVERIFY(all.leftS && near(*all.leftS, 0));
    }

    void theCurvesAndDurationsOfARunThatEndedInTheMiddleOfAnEpochEndThere() {
        RunStore store(QStringLiteral("r"));
        std::int64_t ms = 0;
        const auto take = [&](FrameBody body, std::optional<int> rank) {
            store.take(frame(std::move(body), rank, ms += 100));
        };
        StateFrame state;
        state.state = RunState::Training;
        state.worldSize = 1;
        state.stepsPerEpoch = 20;
        for (const int epoch : {1, 2}) {
            state.epoch = epoch;
            take(state, 0);
            EpochFrame done;
            done.epoch = epoch;
            done.steps = done.samples = epoch == 1 ? 20 : 10;
            done.durationS = 0.1 * double(done.steps);
            for (int step = 0; step < done.steps; step += 5) {
                StepsFrame window;
                window.epoch = epoch;
                window.firstStep = 20 * (epoch - 1) + step;
                window.lastStep = window.firstStep + 4;
                window.count = window.samples = 5;
                window.loss = LossWindow{1, 1, 1, 1};
                window.scalars["chairs"] = ScalarWindow{1, 1, 1, 1, 1};
                take(window, 0);
            }
            take(done, 0);
        }
        const LossSeries *curves[] = {&store.losses().all(), store.losses().ofRank(0), store.metrics().series("chairs"),
                                      store.metrics().rankSeries("chairs", 0)};
        for (const LossSeries *curve : curves)
            QCOMPARE(curve->points().back().epoch, 2.0); // a script may leave each epoch early
        QCOMPARE(wholeEpochs(store).size(), std::size_t(2));
        StateFrame over;
        over.state = RunState::Done;
        take(over, std::nullopt);
        for (const LossSeries *curve : curves) {
            QCOMPARE(curve->points().size(), std::size_t(6));
            QCOMPARE(curve->points()[3].epoch, 1.0);
            QCOMPARE(curve->points()[4].epoch, 1.25);
            QCOMPARE(curve->points().back().epoch, 1.5);
        }
        QCOMPARE(wholeEpochs(store).size(), std::size_t(1));
        QCOMPARE(*medianEpochS(store), 2.0);
    }
};

QTEST_GUILESS_MAIN(AmidEpochTest)
#include "amid_epoch_test.moc"
