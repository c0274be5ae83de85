// SPDX-License-Identifier: MIT
// Curves of any length become a few points a pixel column without losing what matters; and what Live's pictures are made of:
// smoothing, relative time, marks, which runs are shown, data parallel's anatomy.
#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include <cmath>
#include <limits>
#include <random>

#include "analysis/causes/dp_anatomy.h"
#include "analysis/causes/median_repeat.h"
#include "analysis/compare/result_table.h"
#include "analysis/curves/curve.h"
#include "analysis/curves/smoother.h"
#include "analysis/history/run_marks.h"
#include "core_support.h"
#include "models/console_model.h"
#include "models/device_metric.h"
#include "models/roles.h"
#include "models/run_choice_model.h"
#include "models/run_curves.h"
#include "store/training_clock.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

constexpr auto strict = QAbstractItemModelTester::FailureReportingMode::QtTest;
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();

/// Uneven steps in x, noise and spikes in y; `brokenEvery` > 0 puts values that are not finite in between.
Curve noisy(int count, std::uint32_t seed, int brokenEvery = 0) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> step(0, 2), value(-1, 1);
    Curve curve;
    double x = 0;
    for (int i = 0; i < count; ++i) {
        x += step(random);
        const bool broken = brokenEvery > 0 && i % brokenEvery == brokenEvery / 2;
        curve.append(x, broken                ? (i % 3 ? notANumber : infinity)
                        : random() % 997 == 0 ? 50 * value(random)
                                              : value(random));
    }
    return curve;
}

/// Lowest and highest finite y of the points with x in [from, to), looked at one by one.
std::optional<Curve::Extremes> slowly(const QList<QPointF> &points, double from, double to) {
    std::optional<Curve::Extremes> out;
    for (const QPointF &p : points)
        if (p.x() >= from && p.x() < to && std::isfinite(p.y()))
            out = out ? Curve::Extremes{std::min(out->low, p.y()), std::max(out->high, p.y())}
                      : Curve::Extremes{p.y(), p.y()};
    return out;
}

QList<QPointF> allOf(const Curve &curve) {
    QList<QPointF> out;
    for (qsizetype i = 0; i < curve.size(); ++i)
        out.append(curve.at(i));
    return out;
}

LossPoint lossAt(std::int64_t step, double loss, std::int64_t wallUs = 0) {
    LossPoint point;
    point.step = step;
    point.loss = point.min = point.max = loss;
    point.samples = 1;
    point.wallUs = wallUs;
    return point;
}

Frame stepsFrame(std::int64_t first, std::int64_t last, int rank, std::int64_t atMs) {
    StepsFrame steps;
    steps.firstStep = first;
    steps.lastStep = last;
    steps.count = last - first + 1;
    steps.samples = steps.count;
    steps.loss = LossWindow{1, 1, 1, 1};
    return frame(steps, rank, atMs);
}

} // namespace

class CoreCurvesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyPixelColumnKeepsItsTrueLowestAndHighest_data() {
        QTest::addColumn<int>("count");
        QTest::addColumn<int>("columns");
        QTest::addColumn<int>("brokenEvery");
        for (const int count : {1, 15, 16, 17, 255, 257, 4'097, 70'001})
            for (const int columns : {1, 7, 300})
                for (const int brokenEvery : {0, 5})
                    QTest::addRow("%d points, %d columns, broken %d", count, columns, brokenEvery)
                        << count << columns << brokenEvery;
    }
    void everyPixelColumnKeepsItsTrueLowestAndHighest() {
        QFETCH(int, count);
        QFETCH(int, columns);
        QFETCH(int, brokenEvery);
        const Curve curve = noisy(count, std::uint32_t(count), brokenEvery);
        const QList<QPointF> all = allOf(curve);
        const double whole = curve.last().x() - curve.first().x();
        for (const auto &[from, to] : {std::pair(curve.first().x(), curve.last().x()),
                                       {curve.first().x() + whole * 0.31, curve.first().x() + whole * 0.52}}) {
            const CurvePart part = curve.part(from, to, columns);
            QVERIFY(std::is_sorted(part.points.begin(), part.points.end(),
                                   [](const QPointF &a, const QPointF &b) { return a.x() < b.x(); }));
            QVERIFY(part.shown <= 2 * columns + 2);
            const double width = (to - from) / columns;
            for (int column = 0; column < columns && to > from; ++column) {
                // The last column has the stretch's end in it.
                const double end = column + 1 == columns ? std::nextafter(to, infinity) : from + (column + 1) * width;
                const double begin = from + column * width;
                const auto truth = slowly(all, begin, end), shown = slowly(part.points, begin, end);
                QCOMPARE(shown.has_value(), truth.has_value());
                if (truth) {
                    QCOMPARE(shown->low, truth->low);
                    QCOMPARE(shown->high, truth->high);
                }
            }
        }
    }

    void aPartBroughtUpToDateIsTheSameAsOneTakenAnew() {
        for (const int brokenEvery : {0, 7}) {
            const Curve whole = noisy(30'000, 9, brokenEvery);
            // Ending before the stretch, within it, and growing beyond it.
            const double from = whole.at(3'000).x(), to = whole.at(25'000).x();
            Curve curve;
            CurvePart part = curve.part(from, to, 150);
            for (qsizetype i = 0; i < whole.size(); ++i) {
                curve.append(whole.at(i).x(), whole.at(i).y());
                if (i % 311 != 0 && i + 1 != whole.size())
                    continue;
                curve.advance(part);
                const CurvePart anew = curve.part(from, to, 150);
                QCOMPARE(part.held, anew.held);
                QCOMPARE(part.shown, anew.shown);
                QCOMPARE(part.points.size(), anew.points.size());
                for (qsizetype p = 0; p < anew.points.size(); ++p)
                    QVERIFY(part.points[p].x() == anew.points[p].x() &&
                            (part.points[p].y() == anew.points[p].y() || std::isnan(anew.points[p].y())));
                QCOMPARE(part.broken.size(), anew.broken.size());
            }
        }
    }

    void whatIsHeldAndShownIsCountedTruly() {
        const Curve curve = noisy(10'000, 7);
        const double from = curve.at(1'000).x(), to = curve.at(8'999).x();
        const CurvePart part = curve.part(from, to, 100);
        QCOMPARE(part.held, 8'000);
        qsizetype within = 0;
        for (const QPointF &p : part.points)
            within += p.x() >= from && p.x() <= to;
        QCOMPARE(part.shown, within);
        QVERIFY(part.points.first().x() < from && part.points.last().x() > to); // the line enters and leaves
        const CurvePart few = curve.part(curve.at(10).x(), curve.at(20).x(), 100);
        QCOMPARE(few.held, 11);
        QCOMPARE(few.shown, 11);
    }

    void valuesThatAreNotFiniteAreMarkedAndBreakTheLine() {
        Curve curve;
        for (int i = 0; i < 100'000; ++i)
            curve.append(i, i == 40'000 ? notANumber : i == 70'000 ? infinity : 1.0);
        const CurvePart part = curve.part(0, 99'999, 200);
        QCOMPARE(part.broken.size(), 2);
        QCOMPARE(part.broken[0].x(), 40'000.0);
        QVERIFY(std::isnan(part.broken[0].y()));
        QCOMPARE(part.broken[1].x(), 70'000.0);
        QVERIFY(std::isinf(part.broken[1].y()));
        QCOMPARE(std::count_if(part.points.begin(), part.points.end(), [](auto &p) { return !std::isfinite(p.y()); }),
                 2);
        Curve nothing;
        nothing.append(0, notANumber);
        QCOMPARE(nothing.part(0, 1, 10).broken.size(), 1);
        QVERIFY(!nothing.extremes(0, 1));
    }

    void extremesOfAnyStretchAreThoseOfItsPoints() {
        const Curve curve = noisy(5'000, 3, 11);
        const QList<QPointF> all = allOf(curve);
        std::mt19937 random(1);
        for (int turn = 0; turn < 300; ++turn) {
            std::size_t a = random() % 5'000, b = random() % 5'000;
            const double from = all[qsizetype(std::min(a, b))].x(), to = all[qsizetype(std::max(a, b))].x();
            const auto truth = slowly(all, from, std::nextafter(to, infinity)), found = curve.extremes(from, to);
            QCOMPARE(found.has_value(), truth.has_value());
            if (truth) {
                QCOMPARE(found->low, truth->low);
                QCOMPARE(found->high, truth->high);
            }
        }
    }

    void aPointCostsAtMost24Bytes() {
        Curve curve;
        for (int i = 0; i < 300'000; ++i) {
            curve.append(i, i % 100);
            if (i > 10'000 && i % 9'973 == 0)
                QVERIFY2(double(curve.bytes()) / double(curve.size()) <= 24, qPrintable(QString::number(i)));
        }
    }

    void aClockSetBackDoesNotTurnTheLineAround() {
        Curve curve;
        curve.append(10, 1);
        curve.append(8, 2);
        QCOMPARE(curve.last(), QPointF(10, 2));
        QCOMPARE(curve.nearest(100)->y(), 2.0);
        QVERIFY(!Curve().nearest(1));
    }

    void smoothingGoesOnWhereItStoppedAndStartsUnbiased() {
        const Curve raw = noisy(2'000, 5, 100);
        Curve atOnce, bitByBit, growing;
        Smoother(3).advance(raw, atOnce);
        Smoother later(3);
        for (qsizetype i = 0; i < raw.size(); ++i) {
            growing.append(raw.at(i).x(), raw.at(i).y());
            if (i % 37 == 0 || i + 1 == raw.size())
                later.advance(growing, bitByBit);
        }
        QCOMPARE(bitByBit.size(), raw.size());
        for (qsizetype i = 0; i < raw.size(); ++i) {
            const double y = atOnce.at(i).y();
            QVERIFY(std::isfinite(y) == std::isfinite(raw.at(i).y()));
            QVERIFY(!std::isfinite(y) || bitByBit.at(i).y() == y);
        }
        QCOMPARE(atOnce.first().y(), raw.first().y());
        Curve flat, smooth;
        for (int i = 0; i < 50; ++i)
            flat.append(i, 3);
        Smoother(8).advance(flat, smooth);
        QVERIFY(std::abs(smooth.last().y() - 3) < 1e-12);
    }

    void aRestartReplacesTheStepsThatAreTakenAgain() {
        LossSeries series;
        for (int step = 0; step < 10; ++step)
            series.append(lossAt(step, 1));
        const int before = series.generation();
        series.append(lossAt(4, 2));
        QCOMPARE(series.points().size(), std::size_t(5));
        QCOMPARE(series.points().back().loss, 2.0);
        QVERIFY(series.generation() > before);

        LossSeries merged;
        LossMerger merger;
        merger.setRanks(2);
        for (int step : {4, 9, 14})
            for (int rank : {0, 1})
                merger.add(rank, step, lossAt(step, 1), merged);
        merger.add(0, 19, lossAt(19, 1), merged); // rank 1 died before it came so far
        for (int step : {4, 9})
            for (int rank : {0, 1})
                merger.add(rank, step, lossAt(step, 3), merged);
        QCOMPARE(merged.points().size(), std::size_t(2));
        for (const LossPoint &point : merged.points()) {
            QCOMPARE(point.loss, 3.0);
            QCOMPARE(point.samples, std::int64_t(2));
        }
    }

    void relativeTimeLeavesOutWhatIsNotTraining() {
        constexpr std::int64_t second = 1'000'000'000;
        TrainingClock clock;
        clock.onState(5 * second, RunState::Training);
        QCOMPARE(clock.at(10 * second), 0.0); // from the first window on
        QCOMPARE(clock.at(12 * second), 2.0);
        clock.onState(13 * second, RunState::Evaluating);
        clock.onState(20 * second, RunState::Checkpointing);
        clock.onState(30 * second, RunState::Training);
        QCOMPARE(clock.at(31 * second), 4.0);
        clock.onState(32 * second, RunState::Init); // started again
        QCOMPARE(clock.at(60 * second), 5.0);       // a rank that sends windows trains, whatever it said
        QCOMPARE(clock.at(61 * second), 6.0);
        QCOMPARE(clock.at(1 * second), 6.0); // the machine was booted anew
        QCOMPARE(clock.at(2 * second), 7.0);
    }

    void aRunsRelativeTimeHasNoEvaluationInIt() {
        RunSet set;
        RunStore store(QStringLiteral("r"));
        set.add(&store);
        RunCurves curves(&set);
        const auto say = [&](RunState state, std::int64_t atMs) {
            StateFrame body;
            body.state = state;
            store.take(frame(body, 0, atMs));
        };
        say(RunState::Training, 0);
        store.take(stepsFrame(0, 4, 0, 1'000));
        store.take(stepsFrame(5, 9, 0, 2'000));
        say(RunState::Evaluating, 2'000);
        say(RunState::Training, 60'000);
        store.take(stepsFrame(10, 14, 0, 61'000));
        const auto relative = curves.curve(0, RunCurves::XAxis::RunTime),
                   wall = curves.curve(0, RunCurves::XAxis::Wall);
        QCOMPARE(allOf(*relative), (QList<QPointF>{{0, 1}, {1, 1}, {2, 1}}));
        QCOMPARE(wall->last().x() - wall->first().x(), 60.0);
    }

    void curvesGrowInPlaceAndAreMadeAnewWhenHistoryChanges() {
        RunSet set;
        RunStore store(QStringLiteral("r"));
        set.add(&store);
        RunCurves curves(&set);
        for (int i = 0; i < 50; ++i)
            store.take(stepsFrame(5 * i, 5 * i + 4, 0, 100 * i));
        const auto first = curves.curve(0, RunCurves::XAxis::Step);
        const auto smooth = curves.smoothed(0, RunCurves::XAxis::Step, 0.6);
        QCOMPARE(first->size(), 50);
        QVERIFY(smooth != first);
        QCOMPARE(smooth->size(), 50);
        store.take(stepsFrame(250, 254, 0, 5'000));
        QCOMPARE(curves.curve(0, RunCurves::XAxis::Step), first);
        QCOMPARE(first->size(), 51);
        QCOMPARE(curves.smoothed(0, RunCurves::XAxis::Step, 0.6), smooth);
        QCOMPARE(smooth->size(), 51);
        QCOMPARE(curves.smoothed(0, RunCurves::XAxis::Step, 0), first);
        store.take(stepsFrame(100, 104, 0, 6'000));
        QVERIFY(curves.curve(0, RunCurves::XAxis::Step) != first);
        QCOMPARE(curves.curve(0, RunCurves::XAxis::Step)->size(), 21);
    }

    void aPlaceOnOneAxisIsFoundOnTheOthers() {
        RunSet set;
        RunStore store(QStringLiteral("r"));
        set.add(&store);
        RunCurves curves(&set);
        QVERIFY(!curves.placeOf(0, RunCurves::XAxis::Step, 5));
        for (int i = 0; i < 10; ++i)
            store.take(stepsFrame(10 * i, 10 * i + 9, 0, 1'000 * i));
        const std::int64_t begin = store.losses().all().points().front().wallUs;
        QCOMPARE(*curves.wallUsAt(0, RunCurves::XAxis::Step, 39), begin + 3'000'000);
        QCOMPARE(*curves.placeOf(0, RunCurves::XAxis::Step, begin + 3'500'000), 44.0);
        QCOMPARE(*curves.placeOf(0, RunCurves::XAxis::RunTime, begin + 3'500'000), 3.5);
        QCOMPARE(*curves.placeOf(0, RunCurves::XAxis::Step, begin + 99'000'000), 99.0);
    }

    void checkpointsRestartsAndAlertsAreMarkedWithTheirWords() {
        RunStore store(QStringLiteral("r"));
        for (int rank : {0, 1}) {
            StateFrame body;
            body.state = RunState::Checkpointing;
            body.epoch = 2;
            store.take(frame(body, rank, 100 + rank));
        }
        store.take(
            frame(AlertFrame{"warning", "restart", "all ranks are started again, 1 of 3", {}}, std::nullopt, 300));
        store.take(frame(AlertFrame{"error", "rank_died", "rank 1 was killed by SIGKILL", {}}, std::nullopt, 200));
        const std::vector<RunMark> marks = runMarks(store);
        QCOMPARE(marks.size(), std::size_t(3));
        QVERIFY(marks[0].kind == RunMark::Kind::Checkpoint && marks[0].text == "checkpoint after epoch 2");
        QVERIFY(marks[1].kind == RunMark::Kind::Alert && marks[1].error);
        QVERIFY(marks[2].kind == RunMark::Kind::Restart && !marks[2].error);
        QCOMPARE(marks[2].text, std::string("all ranks are started again, 1 of 3"));
        store.setLink(LinkState::AgentDied, QStringLiteral("failed: its job is gone"));
        QVERIFY(std::ranges::any_of(runMarks(store),
                                    [](const RunMark &mark) { return mark.text == "failed: its job is gone"; }));
    }

    void anEpochEndsWhenItsLastRankHasReportedIt() {
        RunStore store(QStringLiteral("r"));
        store.setRecord(ddpRecord("r"));
        EpochFrame first, second;
        first.epoch = 1;
        second.epoch = 2;
        store.take(frame(first, 0, 100));
        QVERIFY(epochEnds(store).empty()); // the other rank still trains it
        store.take(frame(first, 1, 250));
        store.take(frame(second, 0, 400));
        const std::vector<RunMark> ends = epochEnds(store);
        QCOMPARE(ends.size(), std::size_t(1));
        QVERIFY(ends[0].kind == RunMark::Kind::EpochEnd && ends[0].text == "end of epoch 1");
        QCOMPARE(ends[0].wallUs, frame(first, 1, 250).wallUs);
    }

    void runsAreShownHiddenAndPinnedByTheirIds() {
        RunSet set;
        RunChoiceModel choice(&set);
        const QAbstractItemModelTester tester(&choice, strict);
        RunStore first(QStringLiteral("a")), second(QStringLiteral("b")), third(QStringLiteral("c"));
        for (RunStore *store : {&first, &second, &third})
            set.add(store);
        QSignalSpy shown(&choice, &RunChoiceModel::shownChanged), pinned(&choice, &RunChoiceModel::pinnedChanged);
        QVERIFY(choice.setData(choice.index(1, RunChoiceModel::Name), Qt::Unchecked, Qt::CheckStateRole));
        QVERIFY(!choice.isShown("b") && choice.isShown("a"));
        choice.setShown("b", false);
        QCOMPARE(shown.count(), 1); // emitted once
        choice.showOnly("c");
        QVERIFY(choice.isShown("c") && !choice.isShown("a"));
        choice.showOnly("c");
        QVERIFY(choice.isShown("a") && choice.isShown("b"));
        QVERIFY(choice.setData(choice.index(0, RunChoiceModel::Pin), Qt::Checked, Qt::CheckStateRole));
        QCOMPARE(pinned.count(), 1);
        QCOMPARE(choice.pinned(), QStringList("a"));
        choice.setShown("b", false);
        set.assign({&third, &second});
        QCOMPARE(choice.rowCount(), 2);
        QCOMPARE(choice.index(1, 0).data(Qt::CheckStateRole).toInt(), int(Qt::Unchecked)); // still hidden
        QVERIFY(choice.isPinned("a"));
        QVERIFY(!choice.setData(choice.index(0, RunChoiceModel::Loss), 1, Qt::CheckStateRole));
        set.clear();
    }

    void theMedianRepeatSpeaksForAllWhenTheyAreDoneAndTheNewestUntilThen() {
        QVERIFY(!medianRepeat({}));
        std::vector<std::unique_ptr<RunStore>> stores;
        std::vector<const RunStore *> repeats;
        for (const double factor : {1.3, 0.9, 1.1, 1.0}) { // of an epoch's time
            stores.push_back(std::make_unique<RunStore>(QString::number(factor)));
            repeats.push_back(stores.back().get());
            for (Frame one : ddpRecording()) {
                if (auto *epoch = std::get_if<EpochFrame>(&one.body))
                    epoch->durationS *= factor;
                const auto *state = std::get_if<StateFrame>(&one.body);
                if (!state || state->state != RunState::Done)
                    stores.back()->take(one);
            }
        }
        QCOMPARE(medianRepeat(repeats)->runId(), QStringLiteral("1")); // none is done: the newest
        stores.push_back(std::make_unique<RunStore>(QStringLiteral("begun")));
        repeats.push_back(stores.back().get());
        QCOMPARE(medianRepeat(repeats)->runId(), QStringLiteral("1")); // without a step it has nothing to show
        StateFrame done;
        done.state = RunState::Done;
        for (std::size_t i = 0; i < 3; ++i)
            stores[i]->take(frame(done, std::nullopt, 2300));
        QCOMPARE(medianRepeat(repeats)->runId(), QStringLiteral("1.1")); // of 0.9, 1.1 and 1.3
        stores[3]->take(frame(done, std::nullopt, 2300));
        QCOMPARE(medianRepeat(repeats)->runId(), QStringLiteral("1")); // of four, the shorter of the two in the middle

        ResultTable table; // runs of one name may be no repeats of each other
        table.rows.resize(3);
        table.rows[0].name = "DDP on 2 devices";
        table.rows[0].runs = {"1.3", "0.9"};
        table.rows[1].runs = {"of another folder"};
        table.rows[2].name = "DDP on 2 devices #2";
        table.rows[2].runs = {"1.1"};
        const std::vector<RowRepeat> drawn = medianRepeats(table, repeats);
        QCOMPARE(drawn.size(), std::size_t(2));
        QVERIFY(drawn[0].name == table.rows[0].name && drawn[0].run == repeats[1] && drawn[0].repeats == 2);
        QVERIFY(drawn[1].name == table.rows[2].name && drawn[1].run == repeats[2] && drawn[1].repeats == 1);
    }

    void dataParallelsAnatomyIsMeasuredOrUnknown() {
        RunStore store(QStringLiteral("r"));
        QVERIFY(!dpAnatomy(store)); // nothing is known yet
        RunRecord record = ddpRecord("r");
        record.config->method = Method::Dp;
        record.processes = 1;
        store.setRecord(record);
        QVERIFY(!dpAnatomy(store));
        StateFrame init;
        init.replicaBatch = {48, 16};
        store.take(frame(init, 0, 1));
        Frame steps = stepsFrame(0, 9, 0, 100);
        auto &phases = std::get<StepsFrame>(steps.body).phases;
        phases["load"] = {0.1, {}};
        phases["forward"] = {0.5, {}};
        phases["scatter"] = {0.05, {}};
        phases["parallel_forward"] = {0.4, {}};
        phases["gather"] = {0.05, {}};
        phases["parallel_backward"] = {0.6, {}};
        phases["optimizer"] = {0.1, {}};
        store.take(steps);
        const auto anatomy = dpAnatomy(store);
        QVERIFY(anatomy);
        QStringList names;
        for (const DpStage &stage : anatomy->stages)
            names.append(QString::fromStdString(stage.phase) + (stage.everyDevice ? "*" : ""));
        QCOMPARE(names,
                 QStringList({"load", "scatter", "parallel_forward*", "gather", "parallel_backward*", "optimizer"}));
        QVERIFY(std::abs(anatomy->stepS - 0.13) < 1e-12);
        QVERIFY(std::abs(anatomy->parallelS - 0.1) < 1e-12);
        QCOMPARE(anatomy->devices.size(), std::size_t(2));
        QCOMPARE(*anatomy->devices[0].share, 0.75);
        QVERIFY(!anatomy->devices[0].utilization); // no epoch has reported it
        QVERIFY(anatomy->devices[1].ownS.empty()); // nor has a frame said how long this device took
        Frame more = stepsFrame(10, 19, 0, 200);
        auto &window = std::get<StepsFrame>(more.body);
        window.phases = phases;
        window.replicas = {{"cpu:0", {{"parallel_forward", {0.3, {}}}}}, {"cpu:1", {{"parallel_forward", {0.4, {}}}}}};
        store.take(more);
        const std::vector<std::string> devices = store.devices().names();
        const auto known = dpAnatomy(store);
        QCOMPARE(devices.size(), std::size_t(2));
        for (std::size_t i = 0; i < 2; ++i) // per step of the window that reported it
            QVERIFY(std::abs(known->devices[i].ownS.at("parallel_forward") - (i == 0 ? 0.03 : 0.04)) < 1e-12);
        QVERIFY(!known->devices[0].ownS.contains("parallel_backward"));
        record.config->method = Method::Ddp;
        store.setRecord(record);
        QVERIFY(!dpAnatomy(store));
    }

    void aScriptThatSaysThatItIsDataParallelHasAnAnatomyWithoutAConfiguration() {
        RunStore store(QStringLiteral("r"));
        RunRecord record = ddpRecord("r");
        record.config.reset();
        record.processes = 1;
        store.setRecord(record);
        StateFrame init;
        init.about.emplace("method", "dp");
        store.take(frame(init, 0, 1));
        QVERIFY(!dpAnatomy(store)); // it has made no step
        Frame steps = stepsFrame(0, 9, 0, 100);
        auto &phases = std::get<StepsFrame>(steps.body).phases;
        phases["parallel_forward"] = {0.4, {}};
        phases["optimizer"] = {0.1, {}};
        store.take(steps);
        const auto anatomy = dpAnatomy(store);
        QVERIFY(anatomy);
        QVERIFY(std::abs(anatomy->parallelS - 0.04) < 1e-12); // the optimizer works on the first device alone
    }

    void aRanksShareOfTheBatchIsWhatItTookWhereShardsAreUneven() {
        RunStore store(QStringLiteral("r"));
        RunRecord record = ddpRecord("r");
        store.setRecord(record);
        for (const int rank : {0, 1}) {
            Frame steps = stepsFrame(0, 9, rank, 100);
            std::get<StepsFrame>(steps.body).phases["forward"] = {0.5, {}};
            store.take(steps);
        }
        const auto share = [&store](int rank) { return ddpAnatomies(store).at(rank).devices.at(0).share; };
        QCOMPARE(share(0), std::optional(0.5)); // by default, shards are even
        store.take(frame(StateFrame{}, 2, 150));
        QCOMPARE(ddpAnatomies(store).size(), std::size_t(2)); // the third rank has reported no phases
        record.config->shards = "measured";
        store.setRecord(record);
        QVERIFY2(!share(0), "no epoch has been reported");
        const auto report = [&store](int rank, int number, std::int64_t samples) {
            EpochFrame epoch;
            epoch.epoch = number;
            epoch.samples = samples;
            store.take(frame(epoch, rank, 1000 * number));
        };
        report(0, 1, 500);
        report(1, 1, 500);
        report(0, 2, 750);
        QCOMPARE(share(0), std::optional(0.5)); // rank 1 has not reported the second one
        report(1, 2, 250);
        QCOMPARE(share(0), std::optional(0.75));
        QCOMPARE(share(1), std::optional(0.25));
    }

    void aRankThatOnlyServesHasNoShareOfTheBatchAndTheStagesOfAPipelineHaveOneTogether() {
        RunStore store(QStringLiteral("r"));
        RunRecord record = ddpRecord("r");
        record.config->method = Method::PsAsync;
        record.config->serverDevices = 1;
        store.setRecord(record);
        for (const int rank : {0, 1}) {
            Frame steps = stepsFrame(0, 9, rank, 100);
            std::get<StepsFrame>(steps.body).phases["forward"] = {0.5, {}};
            store.take(steps);
        }
        const auto share = [&store](int rank) { return ddpAnatomies(store).at(rank).devices.at(0).share; };
        QCOMPARE(share(0), std::optional(1.0));
        QCOMPARE(share(1), std::optional(0.0));
        record.config->method = Method::Pipeline;
        store.setRecord(record);
        QCOMPARE(share(0), std::optional(1.0));
        QCOMPARE(share(1), std::optional(1.0));
        record.command = {"python", "train.py"}; // whose stages are its own
        store.setRecord(record);
        QVERIFY(!share(0));
    }

    void whatADeviceDoesNotReportIsADashWithItsReason() {
        DeviceSample sample;
        sample.kind = "cpu";
        sample.utilization = 0.5;
        using Metric = DeviceMetric;
        QCOMPARE(metricText(metricValue(sample, Metric::Utilisation), Metric::Utilisation), QString("50 %"));
        for (const Metric metric : {Metric::Memory, Metric::Power, Metric::Temperature}) {
            QCOMPARE(metricText(metricValue(sample, metric), metric), QString("-"));
            QVERIFY(whyUnknown("cpu", metric).contains("CPU"));
            QVERIFY(!whyUnknown("cuda", metric).isEmpty());
        }
        sample.powerW = 212.3;
        QCOMPARE(metricText(metricValue(sample, Metric::Power), Metric::Power), QString("212 W"));
    }
};

QTEST_GUILESS_MAIN(CoreCurvesTest)
#include "curves_test.moc"
