// SPDX-License-Identifier: MIT
// How long a run is expected to take, from runs that made the same steps in another number.
#include "core_support.h"
#include "ipc/run_folder.h"
#include "store/run_index.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

/// A run of three epochs of 12,800 samples each.
void makeRunOf(RunRecord &record, double trainingS, double runS) {
    record.config->trainSamples = 12'800;
    record.config->epochs = 3;
    RunResult result = doneResult(finishedRun(12, &record), 0, runS);
    result.summary.emplace();
    result.summary->totalTrainingTimeS = trainingS;
    for (int epoch = 1; epoch <= 3; ++epoch) {
        result.summary->epochs.emplace_back().epoch = epoch;
        result.summary->epochs.back().samples = 12'800;
        result.summary->epochs.back().durationS = trainingS / 3;
    }
    write(runFolder(result.run).result(), toJson(result));
}

} // namespace

class EstimateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theTimeOfMoreOrFewerSamplesIsEstimatedFromRunsThatDifferInNothingElse() {
        const Home home;
        RunRecord quick = ddpRecord("");
        makeRunOf(quick, 2.0, 3.0);
        auto index = RunIndex::open();
        QCOMPARE(*index->refresh(), 1);
        const MachineName box{"box", ""};
        RunConfig whole = *quick.config;
        whole.trainSamples = 0; // 60,000
        whole.epochs = 10;
        // 19,200 samples a second, and a second of starting and testing for three epochs.
        QCOMPARE(*index->estimate(whole, box), 600'000 / 19'200.0 + 10 / 3.0);
        RunConfig less = *quick.config;
        less.epochs = 1;
        QCOMPARE(*index->estimate(less, box), 1.0);
        QVERIFY(!index->estimate(whole, {"elsewhere", ""}));
        RunConfig other = whole;
        other.batchSize = 128; // other steps
        QVERIFY(!index->estimate(other, box));
        whole.epochs = 100; // the quick run's samples are less than 1 % of so many
        QVERIFY(!index->estimate(whole, box));
        QVERIFY(!index->estimate(*quick.config, box, {"python3", "train.py"}));
    }

    void startAndEndCountOnceHoweverManyEpochsThereAre() {
        const Home home;
        RunRecord record = ddpRecord("");
        record.config->testSamples = 1; // on one of its two devices
        makeRunOf(record, 1.5, 2.0);    // 25,600 samples a second
        auto index = RunIndex::open();
        QCOMPARE(*index->refresh(), 1);
        const MachineName box{"box", ""};
        RunConfig other = *record.config;
        other.epochs = 50;
        QCOMPARE(*index->estimate(other, box), 25 + 0.5 + 2 * 47 / 25'600.0);
        other.epochs = 1;
        QCOMPARE(*index->estimate(other, box), 0.5 + 0.5 - 2 * 2 / 25'600.0);
    }
};

QTEST_GUILESS_MAIN(EstimateTest)
#include "estimate_test.moc"
