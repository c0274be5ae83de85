// SPDX-License-Identifier: MIT
// Curves over thousands of ranks: what a frame costs must not grow with how many others there are.
#include <QElapsedTimer>

#include "core_support.h"
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

} // namespace

class CoreManyRanksTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void oneSlowRankAmongThousandsCostsNoLookAtTheOthers() {
        constexpr int ranks = 20'000, steps = 40'000;
        QElapsedTimer spent;
        spent.start();
        LossMerger merger;
        merger.setRanks(ranks + 1);
        LossSeries curve;
        for (int rank = 0; rank < ranks; ++rank)
            merger.add(rank, pointAt(steps), curve);
        for (int step = 0; step <= steps; ++step)
            merger.add(ranks, pointAt(step), curve);
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
            merger.add(i % ranks, pointAt(i), curve);
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

    void whatWaitsIsTakenFromTheRankThatHasMost() {
        LossMerger merger;
        merger.setRanks(3);
        LossSeries curve;
        for (const int step : {2, 5, 9})
            merger.add(1, pointAt(step), curve);
        merger.add(0, pointAt(3), curve);
        merger.flush(curve);
        std::vector<std::int64_t> steps;
        for (const LossPoint &point : curve.points())
            steps.push_back(point.step);
        QCOMPARE(steps, (std::vector<std::int64_t>{2, 5, 9}));
        QCOMPARE(curve.points()[1].samples, std::int64_t(2)); // rank 0's third step with rank 1's fifth
    }
};

QTEST_GUILESS_MAIN(CoreManyRanksTest)
#include "many_ranks_test.moc"
