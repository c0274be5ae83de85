// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <cmath>
#include <random>

#include "ipc/metric_totals.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

StepsFrame window(int epoch, std::int64_t first, std::int64_t last, const Scalars &scalars) {
    StepsFrame frame;
    frame.epoch = epoch;
    frame.firstStep = first;
    frame.lastStep = last;
    frame.count = last - first + 1;
    frame.scalars = scalars;
    return frame;
}

EpochFrame epochOf(int epoch, const Scalars &scalars) {
    EpochFrame frame;
    frame.epoch = epoch;
    frame.scalars = scalars;
    return frame;
}

} // namespace

class MetricsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void windowsMergeToTheSameHoweverTheStepsAreCut() {
        std::mt19937 random(7);
        std::uniform_int_distribution<int> value(-1000, 1000), length(1, 9);
        for (int run = 0; run < 200; ++run) {
            Scalars whole, merged;
            for (int at = 0; at < 60;) {
                Scalars part;
                for (const int end = std::min(60, at + length(random)); at < end; ++at) {
                    const int next = value(random); // whole numbers: their sums are exact
                    add(whole, "x", next);
                    add(part, "x", next);
                }
                merge(merged, part);
            }
            QVERIFY(merged == whole);
            QCOMPARE(merged.at("x").weight, 60.0);
        }
    }

    void aNanStaysVisibleWhereverItStands() {
        for (const bool first : {true, false}) {
            ScalarWindow sum = scalarOf(first ? std::nan("") : 1);
            merge(sum, scalarOf(first ? 1 : std::nan("")));
            QVERIFY(std::isnan(sum.min) && std::isnan(sum.max) && std::isnan(sum.mean()));
        }
    }

    void mergingKeepsTheBoundOnNames() {
        Scalars sum, more;
        for (std::size_t i = 0; i < maxScalars; ++i)
            sum["a" + std::to_string(i)] = more["b" + std::to_string(i)] = scalarOf(1);
        more["a0"] = scalarOf(3);
        merge(sum, more);
        QCOMPARE(sum.size(), maxScalars);
        QCOMPARE(sum.at("a0").mean(), 2.0);
    }

    void ranksAreJoinedAsTheMetricSays() {
        const std::vector<ScalarWindow> ranks = {{6, 2, 1, 5, 5}, {40, 4, 7, 13, 8}};
        MetricSpec spec;
        const auto joined = [&](OverSteps steps, OverRanks over) {
            spec.overSteps = steps;
            spec.overRanks = over;
            return overRanks(spec, ranks).sum;
        };
        QCOMPARE(joined(OverSteps::Mean, OverRanks::Mean), 46.0 / 6); // each step counts once
        QCOMPARE(joined(OverSteps::Rate, OverRanks::Sum), 13.0);      // 3 a second and 10 a second
        QCOMPARE(joined(OverSteps::Max, OverRanks::Max), 13.0);
        QCOMPARE(joined(OverSteps::Last, OverRanks::First), 5.0);
        spec.overRanks = OverRanks::Mean;
        QCOMPARE(overRanks(spec, ranks).min, 1.0);
        QCOMPARE(overRanks(spec, ranks).max, 13.0);
    }

    void theSpeedOfUnequalRanksIsTheirSamplesInTheLongestOnesTime() {
        MetricTotals totals;
        for (const int epoch : {1, 2})
            for (const int rank : {0, 1}) {
                EpochFrame frame = epochOf(epoch, {});
                frame.samples = rank == 0 ? 100 : 300;
                frame.durationS = rank == 0 ? 1 : 4;
                frame.steps = 10;
                totals.take(rank, frame);
            }
        QCOMPARE(totals.ofEpoch(1).at("samples_per_s"), 100.0);
        QCOMPARE(totals.ofRun().at("samples_per_s"), 100.0); // 800 in 8 s
        QCOMPARE(totals.ofRanks("samples_per_s"), (std::map<int, double>{{0, 100.0}, {1, 75.0}}));
    }

    void aRunEndsWithTheMeanOfItsLastEpoch() {
        MetricTotals totals;
        for (const int rank : {0, 1})
            for (const int epoch : {1, 2})
                totals.take(rank,
                            window(epoch, 10 * epoch, 10 * epoch + 9, {{"mine", {10.0 * epoch + rank, 1, 0, 0, 0}}}));
        QCOMPARE(totals.ofEpoch(1).at("mine"), 10.5);
        QCOMPARE(totals.ofRun().at("mine"), 20.5);
        QVERIFY(totals.ofEpoch(3).empty());
    }

    void anEpochsOwnFrameHoldsMoreThanItsWindows() {
        MetricTotals totals;
        totals.take(0, window(1, 0, 9, {{"mine", scalarOf(3)}, {"other", scalarOf(8)}}));
        totals.take(0, epochOf(1, {{"mine", scalarOf(5)}}));
        QCOMPARE(totals.ofEpoch(1).at("mine"), 5.0);
        QCOMPARE(totals.ofEpoch(1).at("other"), 8.0);
        totals.take(0, epochOf(1, {{"mine", scalarOf(7)}})); // reported again
        QCOMPARE(totals.ofRun().at("mine"), 5.0);
    }

    void whatIsMeasuredAfterTheLastStepBelongsToItsEpoch() {
        MetricTotals totals;
        totals.take(0, window(1, 0, 9, {{"mine", scalarOf(3)}}));
        totals.take(0, epochOf(1, {}));
        StepsFrame after = window(1, 9, 9, {{"accuracy", scalarOf(0.5)}});
        after.count = 0;
        totals.take(0, after);
        totals.take(0, window(2, 10, 19, {{"mine", scalarOf(4)}}));
        QCOMPARE(totals.ofEpoch(1).at("accuracy"), 0.5);
        QCOMPARE(totals.ofEpoch(1).at("mine"), 3.0);
        QVERIFY(!totals.ofEpoch(2).contains("accuracy"));
        QCOMPARE(totals.ofRun().at("accuracy"), 0.5);
    }

    void aMetricOfTheRunIsKnownByRank() {
        MetricTotals totals;
        for (const int rank : {0, 1})
            for (const int epoch : {1, 2})
                totals.take(rank, epochOf(epoch, {{"sent_mb", scalarOf(10 * rank + epoch)}}));
        totals.take(0, epochOf(2, {{"other", scalarOf(1)}}));
        QCOMPARE(totals.ofRanks("sent_mb"), (std::map<int, double>{{0, 2.0}, {1, 12.0}}));
        QVERIFY(totals.ofRanks("none").empty());
    }

    void stepsTakenAgainReplaceThoseBefore() {
        MetricTotals totals;
        totals.take(0, window(1, 0, 9, {{"mine", scalarOf(100)}}));
        totals.take(0, window(2, 10, 19, {{"mine", scalarOf(200)}}));
        totals.take(0, window(1, 0, 9, {{"mine", scalarOf(1)}}));
        QCOMPARE(totals.ofEpoch(1).at("mine"), 1.0);
        QVERIFY(totals.ofEpoch(2).empty());
        QCOMPARE(totals.ofRun().at("mine"), 1.0);
    }

    void aRankThatGoesBackReplacesItsOwnEpochsAndCostsNoLookAtThoseOfOthers() {
        MetricTotals totals;
        constexpr int epochs = 12'000; // of the first ones the run alone is known
        for (int epoch = 1; epoch <= epochs; ++epoch)
            for (const int rank : {0, 1})
                totals.take(rank, window(epoch, epoch, epoch, {{"mine", scalarOf(1 + 2 * rank)}}));
        QCOMPARE(totals.ofEpoch(epochs).at("mine"), 2.0);
        for (int again = 0; again < 200'000; ++again)
            totals.take(1, window(5000, 5000, 5000, {{"mine", scalarOf(5)}}));
        QCOMPARE(totals.ofEpoch(4999).at("mine"), 2.0);
        QCOMPARE(totals.ofEpoch(5000).at("mine"), 3.0);
        QCOMPARE(totals.ofEpoch(5001).at("mine"), 1.0); // rank 0's alone
        totals.take(1, window(5001, 5001, 5001, {{"mine", scalarOf(7)}}));
        QCOMPARE(totals.ofEpoch(5001).at("mine"), 4.0);
        totals.take(0, window(2001, 2001, 2001, {{"mine", scalarOf(9)}}));
        QCOMPARE(totals.ofEpoch(5000).at("mine"), 5.0); // rank 1's alone
        QVERIFY(totals.ofEpoch(epochs).empty());
    }

    void hostileNamesAndEpochsAreBounded() {
        MetricTotals totals;
        for (int i = 0; i < 100; ++i)
            totals.take(0, window(1, i, i, {{"x" + std::to_string(i), scalarOf(1)}}));
        QCOMPARE(totals.ofRun().size(), maxScalars);
        for (int epoch = 1; epoch < 30'000; ++epoch)
            totals.take(0, epochOf(epoch, {{"x0", scalarOf(epoch)}}));
        QVERIFY(totals.ofEpoch(5'000).empty());
        QCOMPARE(totals.ofEpoch(29'999).at("x0"), 29'999.0);
    }

    void aRunsValuesAreOfAllItsEpochsHoweverManyThereAre() {
        MetricTotals totals;
        totals.take(0, window(1, 0, 0, {{"rare", scalarOf(7)}}));
        constexpr int epochs = 25'000;
        for (int epoch = 1; epoch <= epochs; ++epoch)
            for (const int rank : {0, 1})
                totals.take(rank, window(epoch, epoch, epoch,
                                         {{"temp", scalarOf(epoch)},
                                          {"samples_per_s", {epoch <= 15'000 ? 1.0 : 0.0, 1, 0, 0, 0}}}));
        QCOMPARE(totals.ofRun().at("temp"), double(epochs));
        QCOMPARE(totals.ofRun().at("samples_per_s"), 2 * 15'000.0 / epochs);
        QCOMPARE(totals.ofRun().at("rare"), 7.0);
        totals.take(1, window(1, epochs + 1, epochs + 1, {{"temp", scalarOf(1)}})); // too old to be kept
        QCOMPARE(totals.ofRun().at("temp"), double(epochs));
    }

    void whatEarlierEpochsLeaveOfARankIsReplacedMetricByMetric() {
        MetricTotals totals;
        const Scalars all = {{"temp", scalarOf(1)}, {"rare", scalarOf(7)}, {"samples_per_s", {10, 1, 0, 0, 0}}};
        for (const int rank : {0, 1})
            totals.take(rank, epochOf(1, all));
        constexpr int epochs = 12'000; // the first ones are no longer there by themselves
        for (int epoch = 2; epoch <= epochs; ++epoch)
            totals.take(
                0, epochOf(epoch, epoch < 1000 ? Scalars{{"temp", scalarOf(epoch)}} : Scalars{{"new", scalarOf(5)}}));
        QVERIFY(totals.ofEpoch(1).empty());
        QCOMPARE(totals.ofRanks("temp"),
                 (std::map<int, double>{{0, 999.0}})); // the last epoch that has it has no rank 1
        QCOMPARE(totals.ofRanks("rare"), (std::map<int, double>{{0, 7.0}, {1, 7.0}}));
        QCOMPARE(totals.ofRanks("samples_per_s"), (std::map<int, double>{{0, 10.0}, {1, 10.0}}));
        QCOMPARE(totals.ofRanks("new"), (std::map<int, double>{{0, 5.0}}));
        QCOMPARE(totals.ofRun().at("temp"), 999.0);
    }

    void manyMetricsOfManyEpochsTakeFewBytesEach() {
        Scalars scalars;
        for (std::size_t i = 0; i < maxScalars; ++i)
            scalars["metric_" + std::to_string(i)] = scalarOf(double(i));
        MetricTotals totals;
        const std::size_t before = mallinfo2().uordblks;
        constexpr int epochs = 1000;
        for (int epoch = 1; epoch <= epochs; ++epoch) {
            totals.take(0, window(epoch, 10 * epoch, 10 * epoch + 9, scalars));
            totals.take(0, epochOf(epoch, scalars));
        }
        QCOMPARE(totals.ofRun().size(), maxScalars);
        const std::size_t taken = mallinfo2().uordblks - before;
        QVERIFY2(taken < epochs * maxScalars * 64, qPrintable(QString::number(taken)));
    }

    void theRegistryIsInOrder() {
        std::string before;
        for (const MetricSpec &spec : metrics()) {
            QVERIFY(isScalarName(spec.name));
            QVERIFY(!spec.title.empty() && spec.help.ends_with('.'));
            QVERIFY(before.empty() || metricBefore(before, spec.name));
            QVERIFY(metricBefore(spec.name, "aaa_invented"));
            before = spec.name;
        }
        QCOMPARE(metricSpec("mine").title, std::string("mine"));
        QVERIFY(metricSpec("mine").onLive);
    }
};

QTEST_APPLESS_MAIN(MetricsTest)
#include "metrics_test.moc"
