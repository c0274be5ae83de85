// SPDX-License-Identifier: MIT
// Time to a target loss or accuracy: interpolated in the open, with the spread over repeats.

#include "analysis/compare/target_columns.h"
#include "analysis/compare/time_to_target.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

constexpr Target ninety{Target::Kind::Accuracy, 0.9};

/// Epochs of `durationS` each, one a value; loss = 1 - accuracy.
RunOutcome runOf(double durationS, const std::vector<double> &accuracies) {
    RunOutcome run;
    run.state = RunState::Done;
    for (const double accuracy : accuracies) {
        MergedEpoch epoch;
        epoch.epoch = int(run.epochs.size()) + 1;
        epoch.complete = true;
        epoch.durationS = durationS;
        epoch.loss = 1 - accuracy;
        epoch.eval = EvalFrame{epoch.epoch, accuracy, {}, 10'000, {}, 0.1};
        run.epochs.push_back(epoch);
    }
    return run;
}

bool near(std::optional<double> value, double expected) {
    return value && std::abs(*value - expected) < 1e-9;
}

} // namespace

class CoreTargetTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void betweenTwoEpochEndsItIsInterpolatedAndSaidToBe() {
        const RepeatGroup group{"DDP on 2 devices", {runOf(4, {0.5, 0.8, 0.92, 0.95})}, false};
        const TimeToTarget got = timesToTarget({group}, ninety).front();
        QVERIFY(near(got.seconds, 8 + 4 * (0.10 / 0.12)));
        QCOMPARE(got.how, std::string("interpolated between epochs 2 and 3"));
        QVERIFY(near(got.best, 0.95));
        QCOMPARE(got.reached, 1);
    }

    void itIsInterpolatedFromTheLastEpochThatWasEvaluated() {
        RunOutcome run = runOf(4, {0.5, 0.7, 0.8, 0.95});
        run.epochs[1].eval.reset();
        run.epochs[2].eval.reset();
        QCOMPARE(timesToTarget({RepeatGroup{"a", {run}, false}}, ninety).front().how,
                 std::string("interpolated between epochs 1 and 4"));
        run.epochs[0].eval.reset(); // nothing to interpolate from
        QCOMPARE(timesToTarget({RepeatGroup{"a", {run}, false}}, ninety).front().how,
                 std::string("by the end of epoch 4"));
    }

    void lossFallsToItsTarget() {
        const RepeatGroup group{"baseline", {runOf(4, {0.5, 0.8, 0.92})}, false};
        const TimeToTarget got = timesToTarget({group}, {Target::Kind::Loss, 0.2 + 1e-12}).front();
        QVERIFY(near(got.seconds, 8));
        QVERIFY(near(got.best, 0.08));
        QCOMPARE(toText({Target::Kind::Loss, 0.2}), std::string("training loss 0.200"));
    }

    void metAtTheFirstEpochsEndItWasMetByThen() {
        const TimeToTarget got = timesToTarget({RepeatGroup{"DP", {runOf(4, {0.91, 0.95})}, false}}, ninety).front();
        QVERIFY(near(got.seconds, 4));
        QCOMPARE(got.how, std::string("by the end of epoch 1"));
    }

    void theFirstTimeCountsEvenIfItFallsBack() {
        QVERIFY(near(hitOf(runOf(1, {0.8, 0.9, 0.7, 0.95}), ninety).seconds, 2));
    }

    void whatIsNotReachedSaysHowFarItCame() {
        const TimeToTarget got =
            timesToTarget({RepeatGroup{"DP", {runOf(4, {0.5, 0.88, 0.87})}, false}}, ninety).front();
        QVERIFY(!got.seconds && !got.fastest);
        QCOMPARE(got.how, std::string("not reached: best 88.00 % in 3 epochs"));
    }

    void theMedianCountsARepeatThatDidNotGetThereAsTheLast() {
        const RunOutcome fast = runOf(4, {0.5, 0.9}), slow = runOf(6, {0.5, 0.9}), never = runOf(4, {0.5, 0.6});
        const TimeToTarget two = timesToTarget({RepeatGroup{"a", {never, fast, slow}, false}}, ninety).front();
        QVERIFY2(near(two.seconds, 12), "the middle one of 8, 12 and never");
        QVERIFY(near(two.fastest, 8) && near(two.slowest, 12));
        QCOMPARE(two.how, std::string("interpolated between epochs 1 and 2; not reached in 1 of 3 repeats: best "
                                      "60.00 % in 2 epochs"));
        QVERIFY(!timesToTarget({RepeatGroup{"a", {never, never, fast}, false}}, ninety).front().seconds);
    }

    void anEpochWithoutEvaluationIsBridged() {
        RunOutcome run = runOf(4, {0.5, 0.7, 0.9});
        run.epochs[1].eval.reset();
        QVERIFY(near(hitOf(run, {Target::Kind::Accuracy, 0.7}).seconds, 4 + 8 * 0.5));
        for (MergedEpoch &epoch : run.epochs)
            epoch.eval.reset();
        QCOMPARE(timesToTarget({RepeatGroup{"a", {run}, false}}, ninety).front().how,
                 std::string("no epoch was evaluated"));
    }

    void anEpochThatIsNotKnownHidesNoLaterOneButItsTime() {
        RunOutcome run = runOf(4, {0.5, 0.6, 0.8, 0.95});
        run.epochs[1].complete = false; // a rank's frame was lost
        const TimeToTarget late = timesToTarget({RepeatGroup{"a", {run}, false}}, ninety).front();
        QVERIFY(!late.seconds && !late.fastest && !late.wattHours);
        QVERIFY(near(late.best, 0.95));
        QCOMPARE(late.reached, 1);
        QCOMPARE(late.how, std::string("the time of an epoch until then is unknown"));
        QVERIFY2(near(hitOf(run, {Target::Kind::Accuracy, 0.5}).seconds, 4), "before the hole it is known");
        QCOMPARE(timesToTarget({RepeatGroup{"a", {run}, false}}, {Target::Kind::Accuracy, 0.99}).front().how,
                 std::string("not reached: best 95.00 % in 4 epochs"));
        const RunOutcome timed = runOf(4, {0.5, 0.9}), never = runOf(4, {0.5, 0.6});
        const TimeToTarget mixed = timesToTarget({RepeatGroup{"a", {timed, run, never}, false}}, ninety).front();
        QCOMPARE(mixed.reached, 2);
        QVERIFY2(!mixed.seconds && near(mixed.fastest, 8), "the middle one may be the unknown");
        QCOMPARE(mixed.how,
                 std::string("interpolated between epochs 1 and 2; the time of an epoch until then is unknown in 1 of "
                             "3 repeats; not reached in 1 of 3 repeats: best 60.00 % in 4 epochs"));
    }

    void aTestAfterAnEpochThatOneRankLeftOutCountsWithoutATime() {
        RunOutcome run = runOf(4, {0.55, 0.6, 0.65});
        run.epochs[1].complete = run.epochs[2].complete = false;
        const RepeatGroup group{"a", {run}, false};
        const TimeToTarget sixty = timesToTarget({group}, {Target::Kind::Accuracy, 0.6}).front();
        QCOMPARE(sixty.reached, 1);
        QVERIFY(!sixty.seconds);
        QCOMPARE(sixty.how, std::string("the time of an epoch until then is unknown"));
        QCOMPARE(timesToTarget({group}, ninety).front().how, std::string("not reached: best 65.00 % in 3 epochs"));
        QCOMPARE(timesToTarget({group}, {Target::Kind::Loss, 0.1}).front().how,
                 std::string("not reached: best 0.450 in 1 epoch")); // a loss is all ranks'
    }

    void aRunThatWentOnFromACheckpointIsTimedByWhatItsSummarySays() {
        RunOutcome run = runOf(4, {0.5, 0.6, 0.8, 0.95});
        run.epochs[0].complete = run.epochs[1].complete = false;
        run.firstEpoch = 3;
        QCOMPARE(timesToTarget({RepeatGroup{"a", {run}, false}}, ninety).front().how,
                 std::string("the time of an epoch until then is unknown"));
        run.earlierS = 20;
        QVERIFY(near(hitOf(run, ninety).seconds, 20 + 4 + 4 * (0.10 / 0.15)));
    }

    void lossesOfTheEpochsBeforeACheckpointCountAndTheirTestsAreUnknown() {
        RunOutcome run = runOf(4, {0.1, 0.2, 0.8, 0.95});
        for (int epoch = 1; epoch < 3; ++epoch) {
            run.epochs[std::size_t(epoch) - 1] = {.epoch = epoch};
            run.summedEpochs.push_back({epoch, epoch == 1 ? 0.5 : 0.4, 10, 640});
        }
        run.summedEpochs.push_back({3, 0.2, 4, 640});
        run.firstEpoch = 3;
        run.earlierS = 20;
        const RepeatGroup group{"a", {run}, false};
        QVERIFY(near(hitOf(run, {Target::Kind::Loss, 0.5}).seconds, 10));
        QVERIFY(near(hitOf(run, {Target::Kind::Loss, 0.45}).seconds, 15));
        QVERIFY(near(hitOf(run, {Target::Kind::Loss, 0.3}).seconds, 20 + 2));
        QCOMPARE(timesToTarget({group}, {Target::Kind::Loss, 0.01}).front().how,
                 std::string("not reached: best 0.0500 in 4 epochs"));
        const Target met{Target::Kind::Accuracy, 0.7}; // by its first own test
        QVERIFY(!hitOf(run, met).seconds && !hitOf(run, met).wattHours);
        QCOMPARE(timesToTarget({group}, met).front().how,
                 std::string("whether it was met before the checkpoint is unknown"));
        QVERIFY(near(hitOf(run, ninety).seconds, 24 + 4 * (0.10 / 0.15)));
    }

    void aRunThatWasCutOffCountsTheTimeOfItsWholeEpochs() {
        RunOutcome run = runOf(4, {0.5, 0.95});
        run.epochs.back().complete = false;
        QVERIFY(!hitOf(run, ninety).seconds);
    }

    void speedUpsAreOfTimesToTheTarget() {
        const RepeatGroup reference{
            "baseline", {runOf(4, {0.5, 0.9}), runOf(4.1, {0.5, 0.9}), runOf(4.2, {0.5, 0.9})}, true};
        const RepeatGroup run{"DDP", {runOf(2, {0.5, 0.9}), runOf(2.1, {0.5, 0.9}), runOf(2.05, {0.5, 0.9})}, false};
        const RepeatGroup never{"DP", {runOf(4, {0.5}), runOf(4, {0.5}), runOf(4, {0.5})}, false};
        const auto got = timesToTarget({run, reference, never}, ninety);
        QVERIFY(!got[1].speedUp && !got[2].speedUp);
        QVERIFY(got[0].speedUp && near(got[0].speedUp->factor, 4.1 / 2.05) && got[0].speedUp->isDifferent());

        const std::span<const TargetColumn> columns = targetColumns();
        const auto speedUp = std::ranges::find(columns, std::string_view("Speed-up"), &TargetColumn::head);
        QVERIFY(speedUp != columns.end());
        const std::string shown = speedUp->text(got[0], Target::Kind::Accuracy, ResultPlace::Window);
        QVERIFY2(shown.starts_with("2.00 (1.") && shown.ends_with(")"), shown.c_str()); // with its interval
    }

    void withoutTheMarkedReferenceThereIsNoSpeedUp() {
        // It failed: no other run takes its place.
        const RepeatGroup dp{"DP", {runOf(4, {0.5, 0.9}), runOf(4.1, {0.5, 0.9}), runOf(4.2, {0.5, 0.9})}, false};
        const RepeatGroup ddp{"DDP", {runOf(2, {0.5, 0.9}), runOf(2.1, {0.5, 0.9}), runOf(2.05, {0.5, 0.9})}, false};
        for (const TimeToTarget &one : timesToTarget({dp, ddp}, ninety))
            QVERIFY(one.seconds && !one.speedUp);
    }

    void aHarderTargetIsNeverReachedSooner() {
        const RunOutcome run = runOf(3, {0.3, 0.6, 0.55, 0.8, 0.9, 0.97});
        double last = 0;
        for (double value = 0.05; value < 0.97; value += 0.01) {
            const TargetHit hit = hitOf(run, {Target::Kind::Accuracy, value});
            QVERIFY(hit.seconds && *hit.seconds >= last - 1e-9);
            last = *hit.seconds;
        }
    }
};

QTEST_GUILESS_MAIN(CoreTargetTest)
#include "target_test.moc"
