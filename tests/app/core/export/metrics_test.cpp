// SPDX-License-Identifier: MIT
// A metric that a script invented, from its frames to the curve, the list of runs, the filter and every export.
#include <cmath>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>
#include <QAbstractItemModelTester>
#include <QProcess>

#include "analysis/compare/judgement.h"
#include "analysis/history/run_columns.h"
#include "analysis/history/run_diff.h"
#include "analysis/history/run_filter.h"
#include "core_support.h"
#include "export/report.h"
#include "export/tensorboard_writer.h"
#include "models/result_model.h"
#include "models/run_curves.h"
#include "models/run_list_model.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

using Json = nlohmann::json;
constexpr auto strict = QAbstractItemModelTester::FailureReportingMode::QtTest;
const QString peers = QStringLiteral(LOCKSTEP_PEERS);

/// The recording of core_support.h, whose ranks report for each step how many chairs they counted: 1 + rank.
std::vector<Frame> chairs() {
    std::vector<Frame> frames = ddpRecording();
    for (Frame &frame : frames)
        if (auto *steps = std::get_if<StepsFrame>(&frame.body))
            for (std::int64_t step = steps->firstStep; step <= steps->lastStep; ++step)
                add(steps->scalars, "chairs", 1 + *frame.rank);
    return frames;
}

/// On disk, with what its agent would have summed up.
std::string chairsRun(std::uint32_t number) {
    const std::string run = finishedRun(number);
    std::string text;
    const std::vector<std::string> lines = sealed(run, chairs());
    for (const std::string &line : lines)
        text += line + "\n";
    write(runFolder(run).log(0), text);
    RunResult result = doneResult(run, lines.size());
    result.summary.emplace();
    result.summary->metrics = {{"chairs", 1.5}, {"name", 7}, {"not a name", 1}, {"odd", std::nan("")}};
    write(runFolder(run).result(), toJson(result));
    return run;
}

/// Steps of one rank with 10 samples each.
StepsFrame windowOf(std::int64_t first, std::int64_t last, double loss, double secondsAStep) {
    StepsFrame out;
    out.firstStep = first;
    out.lastStep = last;
    out.count = last - first + 1;
    out.samples = 10 * out.count;
    out.loss = LossWindow{loss, loss, loss, loss};
    out.phases["forward"] = {secondsAStep * double(out.count), {}};
    return out;
}

constexpr std::int64_t endsOfRanks[][4] = {{9, 19, 29, 39}, {14, 24, 34, 39}};

/// Two ranks whose windows end at different steps; the second one is half as fast. Of it only so many windows come.
void takeOutOfStep(RunStore &store, std::size_t ofSecond) {
    store.setRecord(ddpRecord("r"));
    std::int64_t next[] = {0, 0};
    for (std::size_t window = 0; window < std::size(endsOfRanks[0]); ++window)
        for (const int rank : {0, 1}) {
            if (rank == 1 && window >= ofSecond)
                continue;
            const std::int64_t last = endsOfRanks[rank][window];
            const StepsFrame body =
                windowOf(std::exchange(next[rank], last + 1), last, 1 + 2 * rank, 0.01 * (1 + rank));
            store.take(frame(body, rank, 100 * std::int64_t(window + 1)));
        }
}

std::vector<std::int64_t> stepsOf(const LossSeries &series) {
    std::vector<std::int64_t> out;
    for (const LossPoint &point : series.points())
        out.push_back(point.step);
    return out;
}

void take(RunStore &store, const std::vector<Frame> &frames) {
    store.setRecord(ddpRecord("r"));
    for (const Frame &one : frames)
        store.take(one);
}

Report report() {
    RunStore store(QStringLiteral("20260101T000000Z-00000001"));
    take(store, chairs());
    const std::vector<RunOutcome> outcomes = {outcomeOf(store)};
    return reportOf(resultTable(outcomes), outcomes, {}, {exportedCurve(store)});
}

bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

} // namespace

class CoreMetricsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theRanksOfAMetricMakeOneCurve() {
        RunStore store(QStringLiteral("r"));
        take(store, chairs());
        QVERIFY(std::ranges::count(store.metrics().names(), "chairs") == 1);
        const LossSeries *all = store.metrics().series("chairs"), *loss = &store.losses().all();
        QVERIFY(all);
        QCOMPARE(all->points().size(), loss->points().size());
        for (std::size_t i = 0; i < all->points().size(); ++i) {
            QCOMPARE(all->points()[i].step, loss->points()[i].step);
            QCOMPARE(all->points()[i].loss, 1.5);
            QCOMPARE(all->points()[i].min, 1.0);
            QCOMPARE(all->points()[i].max, 2.0);
        }
        QCOMPARE(store.metrics().rankSeries("chairs", 1)->points().size(), std::size_t{8});
        QCOMPARE(store.metrics().rankSeries("chairs", 1)->points().front().loss, 2.0);
        QVERIFY(!store.metrics().series("tables"));
        QCOMPARE(outcomeOf(store).metrics.at("chairs"), 1.5);
        QCOMPARE(outcomeOf(store).epochs.at(1).metrics.at("chairs"), 1.5);
    }

    void theSpeedOfARunIsKnownOfAnyFrames() {
        RunStore store(QStringLiteral("r"));
        take(store, ddpRecording()); // nobody measured it
        const LossSeries *speed = store.metrics().series("samples_per_s");
        QVERIFY(speed);
        QCOMPARE(speed->points().size(), std::size_t{8});
        QCOMPARE(speed->points().front().loss, 160 / 0.10 + 160 / 0.11); // both ranks', a window's samples ÷ its phases
        const double whole = 2560 / 0.9;                                 // samples ÷ the longest rank's epochs
        QVERIFY(std::fabs(outcomeOf(store).metrics.at("samples_per_s") - whole) < 1e-9);
        QCOMPARE(runColumn("samples_per_s"), runColumn("throughput")); // one column, not two
    }

    void ranksWhoseWindowsEndAtDifferentStepsAllHaveAPartInEveryPoint() {
        RunStore store(QStringLiteral("r"));
        takeOutOfStep(store, 4);
        const LossSeries &loss = store.losses().all(), &speed = *store.metrics().series("samples_per_s"),
                         &stepTime = *store.metrics().series("step_ms");
        std::int64_t samples = 0;
        for (const LossSeries *series : {&loss, &speed, &stepTime})
            QCOMPARE(stepsOf(*series), (std::vector<std::int64_t>{14, 24, 34, 39}));
        for (std::size_t i = 0; i < loss.points().size(); ++i) {
            QCOMPARE(loss.points()[i].loss, 2.0);
            QCOMPARE(speed.points()[i].loss, 1000.0 + 500.0);
            QCOMPARE(stepTime.points()[i].loss, 20.0); // the slowest rank's
            samples += loss.points()[i].samples;
        }
        QCOMPARE(samples, std::int64_t(2 * 40 * 10));
        QCOMPARE(speed.points().front().wallUs, frame({}, 1, 100).wallUs); // when the window came that ends the point
        QVERIFY(has(*exportCurves({exportedCurve(store)}, ExportFormat::Csv), ",24,2\r\n"));
    }

    void ofARankThatEndsEarlyTheOthersGoOnAlone() {
        RunStore store(QStringLiteral("r"));
        takeOutOfStep(store, 2);
        const LossSeries &loss = store.losses().all(), &speed = *store.metrics().series("samples_per_s");
        QCOMPARE(stepsOf(loss), (std::vector<std::int64_t>{14, 24}));
        store.setResult(doneResult("r", 1));
        for (const LossSeries *series : {&loss, &speed})
            QCOMPARE(stepsOf(*series), (std::vector<std::int64_t>{14, 24, 29, 39}));
        QCOMPARE(loss.points().back().loss, 1.0);
        QCOMPARE(speed.points().back().loss, 1000.0);
    }

    void manyRanksOutOfStepMakeNoMorePointsThanEachHasWindows() {
        constexpr int ranks = 1200, windows = 50, length = 10;
        LossMerger merger;
        merger.setRanks(ranks);
        LossSeries curve;
        std::int64_t given = 0, kept = 0;
        for (int window = 0; window < windows; ++window)
            for (int rank = 0; rank < ranks; ++rank) {
                const std::int64_t first = window == 0 ? 0 : length * window + rank % length;
                LossPoint point;
                point.step = length * (window + 1) - 1 + rank % length;
                point.loss = 1;
                point.samples = point.step - first + 1;
                given += point.samples;
                merger.add(rank, first, point, curve);
            }
        merger.flush(curve);
        QCOMPARE(curve.points().size(), std::size_t(windows));
        for (const LossPoint &point : curve.points())
            kept += point.samples;
        QCOMPARE(kept, given);
    }

    void curvesAsCsvSayThatTheyHaveNothingOfARunWithoutALoss() {
        std::vector<Frame> frames = chairs();
        RunStore whole(QStringLiteral("a")), lossless(QStringLiteral("b"));
        take(whole, frames);
        for (Frame &one : frames)
            if (auto *steps = std::get_if<StepsFrame>(&one.body))
                steps->loss.reset();
        take(lossless, frames);
        const std::vector<ExportedCurve> curves = {exportedCurve(whole), exportedCurve(lossless)};
        QCOMPARE(leftOutOfCurves(curves, ExportFormat::Csv),
                 std::string("1 of 2 runs reported no loss, and curves as csv hold nothing else: as json they hold the "
                             "metrics, too"));
        QVERIFY(leftOutOfCurves(curves, ExportFormat::Json).empty());
        QVERIFY(leftOutOfCurves({curves.front()}, ExportFormat::Csv).empty());
    }

    void aMetricOfOneRankIsDrawnToo() {
        std::vector<Frame> frames = chairs();
        for (Frame &frame : frames)
            if (auto *steps = std::get_if<StepsFrame>(&frame.body); steps && frame.rank == 0)
                steps->scalars.clear();
        RunStore store(QStringLiteral("r"));
        take(store, frames);
        QCOMPARE(store.metrics().series("chairs")->points().size(), std::size_t{8});
        QCOMPARE(outcomeOf(store).metrics.at("chairs"), 2.0);
    }

    void stepsTakenAgainReplaceThePointsBefore() {
        std::vector<Frame> frames = chairs();
        RunStore store(QStringLiteral("r"));
        take(store, frames);
        for (Frame &frame : frames)
            if (auto *steps = std::get_if<StepsFrame>(&frame.body))
                for (auto &[name, window] : steps->scalars)
                    window = {10 * window.weight, window.weight, 10, 10, 10};
        for (const Frame &frame : frames)
            if (std::holds_alternative<StepsFrame>(frame.body))
                store.take(frame);
        const LossSeries *all = store.metrics().series("chairs");
        QCOMPARE(all->points().size(), std::size_t{8});
        for (const LossPoint &point : all->points())
            QCOMPARE(point.loss, 10.0);
    }

    void aLongCurveIsHalvedAsItsMetricSays() {
        LossSeries last(4, OverSteps::Last), largest(4, OverSteps::Max), mean(4);
        for (int i = 0; i < 5; ++i)
            for (LossSeries *series : {&last, &largest, &mean}) {
                LossPoint point;
                point.step = i;
                point.loss = point.min = point.max = i == 0 ? 8 : i;
                point.samples = 1;
                series->append(point);
            }
        QCOMPARE(last.points().front().loss, 1.0);
        QCOMPARE(largest.points().front().loss, 8.0);
        QCOMPARE(mean.points().front().loss, 4.5);
        for (const LossSeries *series : {&last, &largest, &mean}) {
            QCOMPARE(series->points().size(), std::size_t{3});
            QCOMPARE(series->points().front().min, 1.0);
            QCOMPARE(series->points().front().max, 8.0);
        }
    }

    void curvesAreOfWhicheverMetricTheyAreAskedFor() {
        RunStore store(QStringLiteral("r"));
        take(store, chairs());
        RunSet set;
        set.add(&store);
        RunCurves curves(&set);
        QVERIFY(curves.curve(0, RunCurves::XAxis::Step)->first().y() < 1);
        curves.setMetric("chairs");
        QCOMPARE(curves.curve(0, RunCurves::XAxis::Step)->size(), 8);
        QCOMPARE(curves.curve(0, RunCurves::XAxis::Step)->first(), QPointF(4, 1.5));
        curves.setMetric("tables");
        QVERIFY(curves.curve(0, RunCurves::XAxis::Step)->isEmpty());
    }

    void theListOfRunsGetsAColumnForIt() {
        const Home home;
        finishedRun(1); // knows no metric
        RunListModel model(std::make_unique<RunIndex>(*RunIndex::open()));
        const QAbstractItemModelTester tester(&model, strict);
        QVERIFY(model.refresh().has_value());
        const int before = model.columnCount();
        QCOMPARE(model.columnOf("chairs"), -1);
        QSignalSpy inserted(&model, &QAbstractItemModel::columnsInserted);
        chairsRun(2);
        QVERIFY(model.refresh().has_value());
        QCOMPARE(inserted.count(), 1);
        QCOMPARE(model.columnCount(), before + 3); // chairs, metric_name, odd
        const int column = model.columnOf("chairs");
        QVERIFY(column > RunListModel::countColumn());
        QCOMPARE(model.headerData(column, Qt::Horizontal).toString(), QStringLiteral("chairs"));
        QCOMPARE(model.index(0, column).data().toString(), QStringLiteral("1.50"));
        QCOMPARE(model.index(1, column).data().toString(), QStringLiteral("-"));
        QCOMPARE(model.index(0, model.columnOf("metric_name")).data().toString(), QStringLiteral("7"));
        QCOMPARE(model.index(0, runColumn("name")).data().toString(), QStringLiteral("DDP on 2 devices"));
        model.sort(column, Qt::AscendingOrder);
        QCOMPARE(model.index(0, column).data().toString(), QStringLiteral("1.50")); // unknown stands last
        model.setGrouped(true);
        QCOMPARE(model.index(0, column).data().toString(), QStringLiteral("1.50"));
        QCOMPARE(model.index(0, RunListModel::countColumn()).data().toInt(), 2);
    }

    void theFilterComparesIt() {
        const Home home;
        finishedRun(1);
        const std::string run = chairsRun(2);
        auto index = RunIndex::open();
        QVERIFY(index->refresh().has_value());
        const std::vector<IndexedRun> runs = index->runs();
        const std::vector<RunColumn> invented = inventedColumns(runs);
        const auto matching = [&](const char *line) {
            const auto filter = RunFilter::parse(QString::fromUtf8(line), invented);
            std::vector<std::string> out;
            for (const IndexedRun &one : runs)
                if (filter && filter->accepts(one))
                    out.push_back(one.run);
            return out;
        };
        QCOMPARE(matching("chairs<2"), std::vector<std::string>{run});
        QCOMPARE(matching("chairs=1.5 and method=ddp"), std::vector<std::string>{run});
        QVERIFY(matching("chairs>2").empty());
        QCOMPARE(matching("chairs=-").size(), std::size_t{1});
        QVERIFY(!RunFilter::parse(QStringLiteral("chairs<2")).has_value()); // nobody reported any
        const auto mistake = RunFilter::parse(QStringLiteral("chair<2"), invented);
        QVERIFY(!mistake && mistake.error().message().find("did you mean chairs?") != std::string::npos);
        const auto columns = runColumnsFrom("name,chairs", invented);
        QVERIFY(columns && columns->back().key == "chairs");
        QVERIFY(!runColumnsFrom("name,tables", invented));
    }

    void twoRunsAreComparedByIt() {
        RunStore a(QStringLiteral("a")), b(QStringLiteral("b"));
        take(a, chairs());
        take(b, ddpRecording());
        const RunDiff diff = diffRuns(a, b);
        const auto metrics = std::ranges::find(diff.sections, QStringLiteral("Metrics"), &DiffSection::title);
        QVERIFY(metrics != diff.sections.end());
        const auto line = std::ranges::find(metrics->lines, QStringLiteral("chairs"), &DiffLine::key);
        QVERIFY(line != metrics->lines.end());
        QCOMPARE(line->a, QStringLiteral("1.50"));
        QCOMPARE(line->b, QStringLiteral("-"));
    }

    void aStepsPhasesAreTheSlowestRanksByItsOwnSteps() {
        RunStore store(QStringLiteral("a"));
        store.setRecord(ddpRecord("a"));
        for (const int rank : {0, 1}) {
            StateFrame init;
            init.worldSize = 2;
            store.take(frame(init, rank, 0));
            EpochFrame epoch;
            epoch.epoch = 1;
            epoch.durationS = 0.2;
            epoch.steps = rank == 0 ? 10 : 20;
            epoch.phases["forward"] = {rank == 0 ? 0.2 : 0.1, {}};
            epoch.phases["parallel_backward"] = {0.01, {}};
            store.take(frame(epoch, rank, 1000));
        }
        const RunDiff diff = diffRuns(store, store);
        const DiffSection *phases = phasesOf(diff);
        QVERIFY(phases);
        QCOMPARE(phases->lines.front().key, QStringLiteral("forward_s"));
        QCOMPARE(*phases->lines.front().figureA, 0.02);
        const auto nested = std::ranges::find(phases->lines, QStringLiteral("parallel_backward_s"), &DiffLine::key);
        QVERIFY(nested != phases->lines.end() && nested->label == QStringLiteral("parallel backward"));
    }

    void whatWasAskedForAndWhatWasUsedAreTwoColumns() {
        const int asked = runColumn("lr"), used = runColumn("metric_lr");
        QVERIFY(runColumns()[std::size_t(asked)].setting && !runColumns()[std::size_t(asked)].measured);
        QVERIFY(runColumns()[std::size_t(used)].measured);
        QVERIFY(runColumns()[std::size_t(asked)].head != runColumns()[std::size_t(used)].head);
    }

    void everyExportCarriesIt() {
        const Report complete = report();
        const QStringList csv = QString::fromStdString(exportResults(complete, ExportFormat::Csv)).split("\r\n");
        QVERIFY(csv[0].endsWith(QStringLiteral(",chairs")));
        QVERIFY(csv[1].endsWith(QStringLiteral(",1.5")));
        const Json json = Json::parse(exportResults(complete, ExportFormat::Json));
        QCOMPARE(json["rows"][0]["metrics"]["chairs"].get<double>(), 1.5);
        QCOMPARE(json["rows"][0]["epochs"][1]["metrics"]["chairs"].get<double>(), 1.5);
        for (const ExportFormat format : {ExportFormat::Markdown, ExportFormat::Latex, ExportFormat::Html}) {
            const std::string page = exportResults(complete, format);
            QVERIFY(has(page, "chairs"));
            QVERIFY(has(page, "1.50"));
        }
        const Json curves = Json::parse(*exportCurves(complete.curves, ExportFormat::Json));
        QCOMPARE(curves[0]["metrics"]["chairs"].size(), std::size_t{8});
        QCOMPARE(curves[0]["metrics"]["chairs"][0]["value"].get<double>(), 1.5);
        QCOMPARE(curves[0]["points"].size(), std::size_t{8});
    }

    void aNameThatAColumnHasAlreadyStandsApart() {
        Report complete = report();
        complete.table.rows.front().metrics = {{"hosts", 1}, {"accuracy_class_0", 2}};
        const std::string csv = exportResults(complete, ExportFormat::Csv);
        QVERIFY(has(csv, ",metric_accuracy_class_0,metric_hosts\r\n"));
    }

    void classesOfTextsAreCalledByTheirLabels() {
        RunStore store(QStringLiteral("20260101T000000Z-00000001"));
        take(store, chairs());
        RunOutcome outcome = outcomeOf(store);
        RunResult result = doneResult("20260101T000000Z-00000001", 1);
        result.summary.emplace().classNames = {"1", "10", "2", "3", "4", "5", "6", "7", "8", "a, b"};
        result.summary->perClassAccuracy.assign(10, 0.9);
        store.setResult(result);
        outcome.classNames = outcomeOf(store).classNames;
        QCOMPARE(outcome.classNames.size(), std::size_t(10));
        const std::vector<RunOutcome> outcomes = {outcome};
        ResultTable table = resultTable(outcomes);
        const std::string csv = exportResults(reportOf(table, outcomes, {}), ExportFormat::Csv);
        QVERIFY2(has(csv, ",accuracy_class_1,accuracy_class_10,accuracy_class_2,"), csv.c_str());
        QVERIFY2(has(csv, ",\"accuracy_class_a, b\","), csv.c_str());
        const Json json = Json::parse(exportResults(reportOf(table, outcomes, {}), ExportFormat::Json));
        QCOMPARE(json["rows"][0]["class_names"][1].get<std::string>(), std::string("10"));
        ClassAccuracyModel classes;
        classes.setTable(table);
        QCOMPARE(classes.headerData(2, Qt::Horizontal).toString(), QStringLiteral("10"));
        table.rows.push_back(table.rows.front());
        table.rows.back().classNames.front() = "0"; // of other data
        classes.setTable(table);
        QCOMPARE(classes.headerData(2, Qt::Horizontal).toString(), QStringLiteral("1"));
    }

    void tensorBoardReadsIt() {
        if (peers.isEmpty())
            QSKIP("LOCKSTEP_PEERS names no Python with TensorBoard");
        const Home home;
        const std::string run = chairsRun(3);
        QTemporaryDir folder;
        QVERIFY(exportTensorBoard(folder.path().toStdString(), run).has_value());
        QProcess reader;
        reader.start(peers, {QStringLiteral(LOCKSTEP_SOURCE "/tests/app/read_events.py"), folder.path()});
        reader.write("\n");
        while (!reader.canReadLine() && reader.waitForReadyRead(60'000)) {
        }
        const Json seen = Json::parse(reader.readLine().toStdString(), nullptr, false);
        reader.closeWriteChannel();
        reader.waitForFinished(test::hangLimitMs);
        const std::string name = "DDP-x2_" + run;
        QCOMPARE(seen[name + "/run"]["metric/chairs"].size(), std::size_t{8});
        QCOMPARE(seen[name + "/run"]["metric/chairs"][0][2].get<double>(), 1.5);
        QCOMPARE(seen[name + "/rank1"]["metric/chairs"][7][2].get<double>(), 2.0);
        QCOMPARE(seen[name + "/run"]["epoch/metric/chairs"].size(), std::size_t{2});
    }
};

QTEST_GUILESS_MAIN(CoreMetricsTest)
#include "metrics_test.moc"
